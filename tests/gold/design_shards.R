# Makes design_shards_scores.csv and design_shards_lme4.csv:  Rscript tests/gold/design_shards.R
# REML of a balanced random-effects model equals the estimates from mean squares where none is negative.
suppressMessages(library(lme4))
set.seed(20140)
d <- expand.grid(topic = factor(1:12), system = factor(1:5), shard = factor(1:4))
eff <- function(f, sd) rnorm(nlevels(f), 0, sd)[as.integer(f)]
d$score <- round(.4 + eff(d$topic, .2) + eff(d$system, .05) + eff(interaction(d$topic, d$system), .08) +
  eff(interaction(d$topic, d$shard), .1) + eff(interaction(d$system, d$shard), .05) + eff(d$shard, .3) +
  rnorm(nrow(d), 0, .06), 6)
write.csv(d, "tests/gold/design_shards_scores.csv", row.names = FALSE, quote = FALSE)
m <- lmer(score ~ system + (1 | topic) + (1 | shard) + (1 | topic:system) + (1 | topic:shard) + (1 | system:shard), d,
  control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10)))
v <- as.data.frame(VarCorr(m))
write.csv(data.frame(term = v$grp, variance = v$vcov), "tests/gold/design_shards_lme4.csv", row.names = FALSE, quote = FALSE)
