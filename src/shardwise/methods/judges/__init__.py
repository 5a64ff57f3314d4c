"""A judge's scores corrected by people's."""
