# Contrasts of contrasts_scores.csv by emmeans and multcomp: Rscript contrasts.R in the folder tests/gold.
suppressMessages({library(emmeans); library(multcomp)})
wide <- read.csv("contrasts_scores.csv")
systems <- names(wide)[-1]
long <- data.frame(topic = factor(rep(wide$topic, length(systems))), system = factor(rep(systems, each = nrow(wide)), systems),
  score = unlist(wide[systems]))
fit <- lm(score ~ topic + system, data = long)
# systems a to f are models x, y, z with prompts p, q
weights <- list("abc vs def" = c(1, 1, 1, -1, -1, -1) / 3, "a vs bf" = c(1, -.5, 0, 0, 0, -.5), "model: x vs y" = c(.5, .5, -.5, -.5, 0, 0),
  "model × prompt: x vs y, p vs q" = c(1, -1, -1, 1, 0, 0), "trend" = c(-1, -1, 0, 0, 1, 1) / 4)
means <- emmeans(fit, "system")
one <- as.data.frame(summary(contrast(means, weights), infer = TRUE, adjust = "none"))
set.seed(1)
design <- do.call(rbind, weights)
coefficients <- matrix(0, nrow(design), length(coef(fit)), dimnames = list(names(weights), names(coef(fit))))
coefficients[, paste0("system", systems[-1])] <- design[, -1]
joint <- glht(fit, linfct = coefficients)
adjusted <- summary(joint, test = adjusted("single-step", abseps = 1e-6, maxpts = 1e6))
bounds <- confint(joint, level = .95, calpha = qmvt(.95, tail = "both.tails", df = df.residual(fit), corr = cov2cor(vcov(joint)), abseps = 1e-6)$quantile)
out <- data.frame(contrast = one$contrast, estimate = one$estimate, se = one$SE, df = one$df, p = one$p.value,
  p_adjusted = as.numeric(adjusted$test$pvalues), lower = bounds$confint[, "lwr"], upper = bounds$confint[, "upr"])
write.csv(format(out, digits = 12), "contrasts_emmeans.csv", row.names = FALSE)
writeLines(c(R.version.string, paste("emmeans", packageVersion("emmeans")), paste("multcomp", packageVersion("multcomp"))), "contrasts_versions.txt")
