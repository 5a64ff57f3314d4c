"""A distributed search system that answers differently each time it is built, and the study of what that costs."""
