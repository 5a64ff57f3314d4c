"""Cases whose meaning is known: files of known truth, changes that change no result, one result in many formats."""
