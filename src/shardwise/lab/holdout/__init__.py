"""Does it hold on other topics?"""
