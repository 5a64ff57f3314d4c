# Dunnett's test where the means have unequal variances: the recovery times of 41 patients under four blankets.
suppressMessages(library(multcomp))
data("recovery", package = "multcomp")
set.seed(1)
fit <- aov(minutes ~ blanket, data = recovery)
test <- summary(glht(fit, linfct = mcp(blanket = "Dunnett")), test = adjusted(abseps = 1e-7, maxpts = 1e7))
limits <- confint(glht(fit, linfct = mcp(blanket = "Dunnett")))$confint
means <- tapply(recovery$minutes, recovery$blanket, mean)
gold <- data.frame(
  system = c("b0", "b1", "b2", "b3"), n = as.vector(table(recovery$blanket)), mean = as.vector(means),
  sigma = sigma(fit), df = df.residual(fit), t = c(NA, test$test$tstat), p = c(NA, test$test$pvalues),
  lower = c(NA, limits[, "lwr"]), upper = c(NA, limits[, "upr"])
)
write.csv(format(gold, digits = 10), "tests/gold/dunnett_unequal.csv", row.names = FALSE, quote = FALSE)
cat(R.version.string, "multcomp", as.character(packageVersion("multcomp")), "\n")
