"""Cases made to break the program: seeded, resumable, compared with programs that we did not write."""
