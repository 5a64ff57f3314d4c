# Makes factors_scores.csv, factors_fits.csv, factors_pairs.csv and factors_versions.txt beside it.
# Run in this folder: Rscript factors_lme4.R (R >= 4.2 with lme4, lmerTest and pbkrtest)
suppressMessages({library(lme4); library(lmerTest)})
options(digits = 17)
set.seed(7)
N <- 24; L <- 3; J <- 5; P <- 4                       # questions, systems, judges, prompts
d <- expand.grid(prompt = 1:P, judge = 1:J, system = 1:L, topic = 1:N)
z <- function(n, sd) rnorm(n, 0, sd)
d$y <- 0.5 + c(0, .03, .08)[d$system] + z(N, .2)[d$topic] + matrix(z(N * L, .1), N)[cbind(d$topic, d$system)] +
  z(J, .08)[d$judge] + matrix(z(J * L, .05), J)[cbind(d$judge, d$system)] + matrix(z(N * J, .06), N)[cbind(d$topic, d$judge)] +
  z(P, .05)[d$prompt] + matrix(z(P * L, .04), P)[cbind(d$prompt, d$system)] + z(nrow(d), .1)
d$cluster <- (d$topic - 1) %/% 4
d <- d[runif(nrow(d)) < ifelse(d$system == 3, .35, .6), ] # most cells are missing
write.csv(transform(d, y = sprintf("%.17g", y)), "factors_scores.csv", row.names = FALSE, quote = FALSE)
for (k in c("prompt", "judge", "system", "topic", "cluster")) d[[k]] <- factor(d[[k]])
control <- lmerControl(optimizer = "bobyqa", calc.derivs = FALSE, optCtrl = list(rhoend = 1e-10, maxfun = 1e5))
models <- list(
  judges = y ~ 0 + system + (1 | topic) + (1 | system:topic) + (1 | judge) + (1 | judge:system) + (1 | judge:topic),
  prompts = y ~ 0 + system + (1 | topic) + (1 | system:topic) + (1 | judge) + (1 | judge:system) + (1 | prompt) + (1 | prompt:system),
  clusters = y ~ 0 + system + (1 | cluster) + (1 | cluster:system) + (1 | topic) + (1 | system:topic))
fits <- pairs <- list()
for (name in names(models)) {
  m <- lmer(models[[name]], d, control = control); v <- as.data.frame(VarCorr(m))
  fits[[name]] <- data.frame(model = name, term = v$grp, variance = v$vcov, criterion = REMLcrit(m))
  for (p in combn(L, 2, simplify = FALSE)) {
    k <- replace(replace(numeric(L), p[1], 1), p[2], -1)
    s <- contest1D(m, k, ddf = "Satterthwaite"); kr <- contest1D(m, k, ddf = "Kenward-Roger")
    pairs[[length(pairs) + 1]] <- data.frame(model = name, a = p[1], b = p[2], difference = s[["Estimate"]], se = s[["Std. Error"]],
      df = s[["df"]], kr_se = kr[["Std. Error"]], kr_df = kr[["df"]])
  }
}
write.csv(do.call(rbind, fits), "factors_fits.csv", row.names = FALSE, quote = FALSE)
write.csv(do.call(rbind, pairs), "factors_pairs.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, sapply(c("lme4", "lmerTest", "pbkrtest"), function(x) paste(x, packageVersion(x)))), "factors_versions.txt")
