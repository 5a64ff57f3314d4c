"""Tables like those that evaluations leave behind, with the means that a careful person reads in them."""
