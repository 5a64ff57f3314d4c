# Makes kenward_roger.csv, samples_lme4.csv and kenward_roger_versions.txt beside it. Run in this folder: Rscript kenward_roger.R
# Needs R >= 4.2 with lme4, lmerTest and pbkrtest. The scores are not stored: they come from the minimal standard generator
# x -> 16807 x mod 2^31 - 1, as in mixed_lme4.R, so that any language makes the same ones.
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest)})
options(digits = 17)

draws <- function(n, seed) {            # n sums of four uniforms, centred and scaled to variance 1
  x <- seed; out <- numeric(n)
  for (k in seq_len(n)) { s <- 0; for (j in 1:4) { x <- (16807 * x) %% 2147483647; s <- s + x / 2147483647 }; out[k] <- s - 2 }
  out * sqrt(3)
}
simulate <- function(L, M, N, sd, seed, gaps = Inf) {   # scores whose own draw exceeds gaps are missing
  d <- expand.grid(n = 0:(N - 1), m = 0:(M - 1), l = 0:(L - 1))     # topics fastest, systems slowest
  z <- draws(N + L * N + L * M + nrow(d), seed)
  t <- z[1:N]; st <- z[N + 1:(L * N)]; i <- z[N + L * N + 1:(L * M)]; e <- z[N + L * N + L * M + 1:nrow(d)]
  d$y <- 0.4 + 0.01 * d$l + sd[1] * t[d$n + 1] + sd[2] * st[d$l * N + d$n + 1] + sd[3] * i[d$l * M + d$m + 1] + sd[4] * e
  d <- d[draws(nrow(d), seed + 100) <= gaps, ]
  data.frame(y = d$y, system = factor(d$l), topic = factor(d$n), own = factor(d$l * M + d$m))
}
cases <- list(
  few_topics = simulate(3, 4, 5, c(.2, .1, .04, .08), 21, .2),
  few_instances = simulate(2, 3, 8, c(.2, .1, .08, .08), 22, .3),
  noisy = simulate(3, 3, 6, c(.2, .05, .1, .1), 23, 0),
  sparse = simulate(2, 4, 7, c(.1, .1, .1, .05), 25, -.2),
  uneven = simulate(3, 4, 6, c(.2, .1, 0, .1), 26, 0),
  more = simulate(4, 5, 20, c(.2, .1, .04, .08), 24, .5))
control <- lmerControl(optimizer = "bobyqa", calc.derivs = FALSE, optCtrl = list(rhobeg = .2, rhoend = 1e-10, maxfun = 1e5),
                       check.conv.singular = "ignore")
best <- function(f, d) {                # the better of two starts
  one <- lmer(f, d, control = control)
  two <- lmer(f, d, control = control, start = pmax(getME(one, "theta") * 1.3, .2))
  if (REMLcrit(two) < REMLcrit(one)) two else one
}
out <- list()
for (name in names(cases)) {
  d <- cases[[name]]
  m <- best(y ~ 0 + system + (1 | topic) + (1 | system:topic) + (1 | own), d)
  b <- fixef(m); L <- length(b); raw <- as.matrix(vcov(m)); kr <- as.matrix(vcovAdj(m))
  for (p in combn(L, 2, simplify = FALSE)) {
    k <- replace(replace(numeric(L), p[1], 1), p[2], -1)
    out[[length(out) + 1]] <- data.frame(case = name, n = nrow(d), singular = isSingular(m, 1e-5), a = p[1] - 1, b = p[2] - 1,
      difference = sum(k * b), se = sqrt(drop(k %*% raw %*% k)), kr_se = sqrt(drop(k %*% kr %*% k)),
      kr_df = contest1D(m, k, ddf = "Kenward-Roger")$df)
  }
}
write.csv(do.call(rbind, out), "kenward_roger.csv", row.names = FALSE, quote = FALSE)

# J15 eq. 7: repeats drawn anew for each topic, y = system + topic + system:topic + error
d <- simulate(2, 4, 12, c(.2, .1, 0, .08), 31)
m <- best(y ~ system + (1 | topic) + (1 | system:topic), d)
s <- summary(m)$coefficients["system1", ]
write.csv(data.frame(difference = s[["Estimate"]], se = s[["Std. Error"]], df = s[["df"]], t = s[["t value"]], p = s[["Pr(>|t|)"]]),
          "samples_lme4.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, sapply(c("lme4", "lmerTest", "pbkrtest"), function(x) paste(x, packageVersion(x)))), "kenward_roger_versions.txt")
