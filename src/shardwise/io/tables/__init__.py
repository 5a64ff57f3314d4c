"""Tables of scores, whatever their headers: columns, what each of them is, records, and the labelled array."""
