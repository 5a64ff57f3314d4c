# Makes mixed_fits.csv, mixed_pairs.csv, mixed_penicillin.csv, mixed_pastes.csv and mixed_versions.txt beside it.
# Run in this folder: Rscript mixed_lme4.R
# Needs R >= 4.2 with lme4, lmerTest and pbkrtest. The simulated scores are not stored: they come from the minimal standard
# generator x -> 16807 x mod 2^31 - 1, which doubles carry exactly, so that any language makes the same ones.
suppressMessages({library(lme4); library(lmerTest)})
options(digits = 17)

draws <- function(n, seed) {            # n sums of four uniforms, centred: mean 0, variance 1/3
  x <- seed; out <- numeric(n)
  for (k in seq_len(n)) { s <- 0; for (j in 1:4) { x <- (16807 * x) %% 2147483647; s <- s + x / 2147483647 }; out[k] <- s - 2 }
  out * sqrt(3)
}
simulate <- function(L, M, N, nested, sd, seed, drop = function(l, m, n) FALSE) {
  d <- expand.grid(n = 0:(N - 1), m = 0:(M - 1), l = 0:(L - 1))     # topics fastest, systems slowest
  own <- if (nested) L * M else M
  z <- draws(N + L * N + own + nrow(d), seed)
  t <- z[1:N]; st <- z[N + 1:(L * N)]; i <- z[N + L * N + 1:own]; e <- z[N + L * N + own + 1:nrow(d)]
  d$y <- 0.4 + 0.01 * d$l + sd[1] * t[d$n + 1] + sd[2] * st[d$l * N + d$n + 1] +
    sd[3] * i[(if (nested) d$l * M else 0) + d$m + 1] + sd[4] * e
  d <- d[!drop(d$l, d$m, d$n), ]
  data.frame(y = d$y, system = factor(d$l), topic = factor(d$n), instance = factor(d$m), own = factor(d$l * M + d$m))
}
holes <- function(l, m, n) (m >= 3 + l) | ((7 * l + 3 * m + 5 * n) %% 11 == 0)   # unequal numbers of instances, lost scores
cases <- list(
  crossed = list(simulate(2, 6, 12, FALSE, c(.2, .1, .03, .08), 11), FALSE),
  nested = list(simulate(3, 5, 10, TRUE, c(.2, .1, .03, .08), 12), TRUE),
  unbalanced = list(simulate(4, 6, 14, TRUE, c(.2, .1, .04, .08), 13, holes), TRUE),
  lost = list(simulate(3, 6, 14, FALSE, c(.2, .1, .04, .08), 14, function(l, m, n) (7 * l + 3 * m + 5 * n) %% 11 == 0), FALSE),
  singular = list(simulate(2, 4, 10, TRUE, c(.2, .1, .0, .08), 16), TRUE),
  singular_unbalanced = list(simulate(4, 6, 14, TRUE, c(.2, .1, .0, .08), 18, holes), TRUE),
  large = list(simulate(10, 10, 200, TRUE, c(.2, .1, .02, .08), 19), TRUE))
control <- lmerControl(optimizer = "bobyqa", calc.derivs = FALSE, optCtrl = list(rhobeg = .2, rhoend = 1e-10, maxfun = 1e5),
                       check.conv.singular = "ignore")
best <- function(f, d) {                # the better of two starts
  one <- lmer(f, d, control = control)
  two <- lmer(f, d, control = control, start = pmax(getME(one, "theta") * 1.3, .2))
  if (REMLcrit(two) < REMLcrit(one)) two else one
}
fits <- list(); pairs_out <- list()
summarise <- function(name, m, d) {
  v <- as.data.frame(VarCorr(m)); v <- setNames(v$vcov, v$grp)
  get <- function(k) if (k %in% names(v)) v[[k]] else NA
  data.frame(case = name, n = nrow(d), criterion = REMLcrit(m), aic = AIC(m), bic = BIC(m), topic = get("topic"), system_topic = get("system:topic"),
             instance = if (is.na(get("own"))) get("instance") else get("own"), residual = v[["Residual"]], singular = isSingular(m, 1e-5))
}
for (name in names(cases)) {
  d <- cases[[name]][[1]]
  f <- if (cases[[name]][[2]]) y ~ 0 + system + (1 | topic) + (1 | system:topic) + (1 | own) else
    y ~ 0 + system + (1 | topic) + (1 | system:topic) + (1 | instance)
  m <- best(f, d)
  fits[[name]] <- summarise(name, m, d)
  b <- fixef(m); L <- length(b)
  for (p in if (L > 4) list(c(1, 2), c(1, 10), c(4, 7)) else combn(L, 2, simplify = FALSE)) {
    k <- replace(replace(numeric(L), p[1], 1), p[2], -1)
    s <- contest1D(m, k, ddf = "Satterthwaite")
    kr <- if (name %in% c("crossed", "nested", "unbalanced", "lost")) contest1D(m, k, ddf = "Kenward-Roger") else data.frame(SE = NA, df = NA)
    names(s)[2] <- names(kr)[1] <- "se"
    pairs_out[[length(pairs_out) + 1]] <- data.frame(case = name, a = p[1] - 1, b = p[2] - 1, mean_a = b[[p[1]]], difference = s$Estimate,
      se = s$se, df = s$df, kr_se = if (is.na(kr$df)) NA else kr[["Std. Error"]], kr_df = kr$df)
  }
}
bare <- function(name, f, d) {
  m <- best(f, d); v <- as.data.frame(VarCorr(m))
  data.frame(case = name, group = v$grp, variance = v$vcov, criterion = REMLcrit(m), mean = fixef(m)[[1]], se = sqrt(vcov(m)[1, 1]))
}
classic <- rbind(bare("penicillin", diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin),
                 bare("pastes", strength ~ 1 + (1 | batch) + (1 | sample), Pastes))
write.csv(do.call(rbind, fits), "mixed_fits.csv", row.names = FALSE, quote = FALSE)
write.csv(do.call(rbind, pairs_out), "mixed_pairs.csv", row.names = FALSE, quote = FALSE)
write.csv(classic, "mixed_classic.csv", row.names = FALSE, quote = FALSE)
write.csv(Penicillin, "mixed_penicillin.csv", row.names = FALSE, quote = FALSE)   # Davies & Goldsmith 1972, as in lme4
write.csv(Pastes, "mixed_pastes.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, sapply(c("lme4", "lmerTest", "pbkrtest"), function(x) paste(x, packageVersion(x)))), "mixed_versions.txt")
