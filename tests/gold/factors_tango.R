# Tango's score interval of a difference of paired shares by PropCIs: Rscript factors_tango.R > factors_tango.csv
suppressMessages(library(PropCIs))
cat("only_a,only_b,n,lower,upper\n")
for (x in list(c(1, 7, 21), c(46, 32, 200), c(0, 5, 40), c(3, 0, 120), c(15, 30, 120), c(0, 0, 50))) {
  ends <- scoreci.mp(x[2], x[1], x[3], 0.95)
  if (is.list(ends)) ends <- ends$conf.int # as later versions have it
  cat(sprintf("%d,%d,%d,%.7f,%.7f\n", x[1], x[2], x[3], ends[1], ends[2]))
}
