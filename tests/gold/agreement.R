# Cohen's kappa of agreement_ratings.csv by psych: Rscript agreement.R in the folder tests/gold.
suppressMessages(library(psych))
ratings <- read.csv("agreement_ratings.csv")
found <- suppressWarnings(cohen.kappa(as.matrix(ratings[, c("first", "second")])))
squares <- outer(1:5, 1:5, function(i, j) 1 - (i - j)^2 / 16)
linear <- outer(1:5, 1:5, function(i, j) 1 - abs(i - j) / 4)
by <- function(w) cohen.kappa(as.matrix(ratings[, c("first", "second")]), w = w)$weighted.kappa
out <- data.frame(statistic = c("kappa", "linear", "quadratic"), value = c(found$kappa, by(linear), by(squares)))
write.csv(format(out, digits = 15), "agreement_psych.csv", row.names = FALSE)
writeLines(c(R.version.string, paste("psych", packageVersion("psych"))), "agreement_versions.txt")
