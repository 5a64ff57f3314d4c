# Makes score_components_scores.csv and score_components_lme4.csv beside it: three balanced tables and the standard
# deviations that lme4 finds by restricted maximum likelihood, all effects random. On balanced data these are the
# estimates by mean squares wherever none of them is negative.
# Run in this folder: Rscript score_components.R   (made with R 4.x and lme4, see score_components_lme4.csv)
suppressMessages(library(lme4))
set.seed(20180708)
n <- function(k, sd) rnorm(k, 0, sd)
make <- function(layout, T, R, K) {
  d <- expand.grid(topic = factor(1:T), system = factor(1:R), third = factor(1:K))
  y <- .35 + n(T, .2)[d$topic] + n(R, .06)[d$system] + n(T * R, .1)[as.integer(d$topic:d$system)]
  if (layout == "shard")
    y <- y + n(K, .05)[d$third] + n(T * K, .08)[as.integer(d$topic:d$third)] + n(R * K, .06)[as.integer(d$system:d$third)]
  if (layout == "instance") y <- y + n(R * K, .06)[as.integer(d$system:d$third)]
  d$y <- round(y + n(nrow(d), .05), 4)
  d$layout <- layout
  d
}
tables <- list(topic = make("topic", 25, 6, 1), shard = make("shard", 20, 5, 6), instance = make("instance", 20, 5, 7))
models <- list(
  topic = y ~ 1 + (1 | topic) + (1 | system),
  shard = y ~ 1 + (1 | topic) + (1 | system) + (1 | third) + (1 | topic:system) + (1 | topic:third) + (1 | system:third),
  instance = y ~ 1 + (1 | topic) + (1 | system) + (1 | topic:system) + (1 | system:third))
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhobeg = .02, rhoend = 1e-11, maxfun = 1e5))
found <- do.call(rbind, lapply(names(tables), function(name) {
  fit <- lmer(models[[name]], tables[[name]], control = control)
  v <- as.data.frame(VarCorr(fit))
  effect <- gsub("third", name, ifelse(v$grp == "Residual", "error", v$grp))
  data.frame(layout = name, effect = effect, sd = signif(v$sdcor, 12), lme4 = as.character(packageVersion("lme4")))
}))
print(found)
write.csv(do.call(rbind, tables), "score_components_scores.csv", row.names = FALSE, quote = FALSE)
write.csv(found, "score_components_lme4.csv", row.names = FALSE, quote = FALSE)
