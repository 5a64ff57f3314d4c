# Writes paired_gold.csv, tukey_hsd.csv, tukey_ptukey.csv and dunnett_multcomp.csv from paired_small.csv (12 topics, 5
# systems) and paired_large.csv (60 topics). The two tables are simulated: topic + system + noise, five decimals.
# Run in this folder: Rscript paired_gold.R     (R 4.2.2, multcomp 1.4, mvtnorm 1.1)
options(digits = 15)
library(multcomp)
g <- function(x) formatC(x, digits = 15, format = "g")
tests <- NULL; hsd <- NULL
for (size in c("small", "large")) {
  wide <- read.csv(paste0("paired_", size, ".csv"))
  s <- names(wide)
  for (i in 1:4) for (j in (i + 1):5) {
    x <- wide[[i]]; y <- wide[[j]]
    w <- if (size == "small") wilcox.test(x, y, paired = TRUE, exact = TRUE)
         else wilcox.test(x, y, paired = TRUE, exact = FALSE, correct = FALSE)
    tests <- rbind(tests, data.frame(size, x = s[i], y = s[j],
      t = g(t.test(x, y, paired = TRUE)$p.value),
      unpaired = g(t.test(x, y, var.equal = TRUE)$p.value),
      wilcoxon = g(w$p.value),
      sign = g(binom.test(sum(x > y), sum(x != y))$p.value)))
  }
  long <- data.frame(y = unlist(wide), topic = factor(rep(seq_len(nrow(wide)), 5)),
                     system = factor(rep(s, each = nrow(wide))))
  fit <- aov(y ~ topic + system, long)
  k <- TukeyHSD(fit, "system")$system
  hsd <- rbind(hsd, data.frame(size, pair = rownames(k), difference = g(k[, 1]), lower = g(k[, 2]),
                               upper = g(k[, 3]), p = g(k[, 4])))
  set.seed(1)
  d <- summary(glht(fit, mcp(system = "Dunnett")),
               test = adjusted("single-step", abseps = 1e-7, maxpts = 5e6))$test
  out <- data.frame(size, system = s[-1], t = g(d$tstat), p = g(d$pvalues))
  write.table(out, "dunnett_multcomp.csv", sep = ",", row.names = FALSE, quote = FALSE,
              append = size == "large", col.names = size == "small")
}
p <- as.numeric(tests$t)
for (size in c("small", "large")) for (m in c("bonferroni", "holm", "BH", "BY")) {
  rows <- tests$size == size
  tests[rows, m] <- g(p.adjust(p[rows], m))
}
write.csv(tests, "paired_gold.csv", row.names = FALSE, quote = FALSE)
write.csv(hsd, "tukey_hsd.csv", row.names = FALSE, quote = FALSE)
grid <- expand.grid(q = c(1, 3, 4.5, 6), r = c(2, 3, 10, 50, 129), df = c(2, 5, 30, 200, 6272, Inf))
grid$sf <- g(ptukey(grid$q, grid$r, grid$df, lower.tail = FALSE))
write.csv(grid, "tukey_ptukey.csv", row.names = FALSE, quote = FALSE)
