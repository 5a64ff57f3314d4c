# Makes anova_scores.csv, anova_tables.csv, anova_pairs.csv and anova_claims.csv beside it.
# Run in this folder: Rscript anova_models.R
# Needs R >= 4.2 with car, emmeans, lme4 and lmerTest; versions are written to anova_versions.txt.
suppressMessages({library(car); library(emmeans); library(lmerTest)})
options(contrasts = c("contr.sum", "contr.poly"), digits = 17)
emm_options(msg.nesting = FALSE, rg.limit = 1e6)
set.seed(20190721)

simulate <- function(T, R, S, sd) {
  d <- expand.grid(topic = factor(1:T), system = factor(1:R), shard = factor(1:S))
  draw <- function(n, s) rnorm(n, 0, s)
  d$y <- .4 + draw(T, sd["t"])[d$topic] + draw(R, sd["r"])[d$system] + draw(S, sd["s"])[d$shard] +
    draw(T * R, sd["tr"])[as.integer(d$topic:d$system)] + draw(R * S, sd["rs"])[as.integer(d$system:d$shard)] +
    draw(T * S, sd["ts"])[as.integer(d$topic:d$shard)] + draw(nrow(d), sd["e"])
  d$y <- round(d$y, 4)
  d
}
sd <- c(t = .2, r = .05, s = .05, tr = .1, rs = .05, ts = .1, e = .06)

full <- simulate(6, 4, 3, sd)
rows <- full
rows$y[with(rows, (topic == 2 & shard == 1) | (topic == 5 & shard == 3) | (topic == 6 & shard == 3))] <- NA
holes <- full
holes$y[c(3, 11, 20, 34, 41, 55, 62)] <- NA
whole <- aggregate(y ~ topic + system, full, mean)
whole$y <- round(whole$y, 4)
whole$shard <- factor(1)
gaps <- whole
gaps$y[c(2, 9, 16, 23)] <- NA
claims <- simulate(12, 5, 6, sd)
designs <- list(full = full, rows = rows, holes = holes, whole = whole, gaps = gaps, claims = claims)
out <- do.call(rbind, lapply(names(designs), function(n) cbind(design = n, designs[[n]][c("topic", "system", "shard", "y")])))
write.csv(out, "anova_scores.csv", row.names = FALSE, quote = FALSE)

formulas <- list(
  MD1 = y ~ topic + system, MD2 = y ~ topic + system, MD3 = y ~ topic + system + topic:system,
  MD4 = y ~ topic + system + topic:system + shard,
  MD5 = y ~ topic + system + topic:system + shard + system:shard,
  MD6 = y ~ topic + system + topic:system + shard + system:shard + topic:shard)
canonical <- function(term) sub("shard:system", "system:shard", sub("system:topic", "topic:system", sub("shard:topic", "topic:shard", term)))

# Dropping the columns of a term from the sum-to-zero design matrix, by QR: works where car refuses aliased models.
by_columns <- function(f, d) {
  d <- d[!is.na(d$y), ]
  X <- model.matrix(f, d); which <- attr(X, "assign"); labels <- attr(terms(f), "term.labels")
  rss <- function(M) { q <- qr(M, tol = 1e-9); c(sum(qr.resid(q, d$y)^2), q$rank) }
  all <- rss(X); n <- nrow(d)
  do.call(rbind, lapply(seq_along(labels), function(i) {
    one <- rss(X[, which != i]); ss <- one[1] - all[1]; df <- all[2] - one[2]
    F <- (ss / df) / (all[1] / (n - all[2]))
    data.frame(term = labels[i], ss = ss, df = df, F = F, p = pf(F, df, n - all[2], lower.tail = FALSE))
  }))
}
from_car <- function(a) {
  a <- a[rownames(a) != "(Intercept)", ]
  data.frame(term = rownames(a), ss = a[["Sum Sq"]], df = a[["Df"]], F = a[["F value"]], p = a[["Pr(>F)"]])
}
tables <- list(); pairs_out <- list()
add <- function(t, design, model, source) {
  t$term <- canonical(trimws(t$term)); t$term[t$term == "Residuals"] <- "error"
  tables[[length(tables) + 1]] <<- cbind(design = design, model = model, source = source, t)
}
for (design in c("full", "rows", "holes", "whole", "gaps")) {
  d <- designs[[design]]
  models <- if (design %in% c("whole", "gaps")) "MD1" else paste0("MD", 2:6)
  for (m in models) {
    fit <- lm(formulas[[m]], d)
    if (design %in% c("full", "whole")) {
      a <- summary(aov(formulas[[m]], d))[[1]]
      add(data.frame(term = rownames(a), ss = a[["Sum Sq"]], df = a[["Df"]], F = a[["F value"]], p = a[["Pr(>F)"]]), design, m, "aov")
    } else if (any(is.na(coef(fit)))) {
      t <- by_columns(formulas[[m]], d)
      add(t[t$term %in% c("system", "topic:system", "system:shard", "topic:shard"), ], design, m, "columns")
      two <- from_car(Anova(fit, type = 2))
      add(two[two$term %in% c("topic", "shard", "Residuals"), ], design, m, "car2")
    } else add(from_car(Anova(fit, type = 3)), design, m, "car3")
    e <- suppressMessages(emmeans(fit, "system"))
    p <- as.data.frame(pairs(e, adjust = "none", reverse = FALSE))
    v <- as.data.frame(e)$emmean
    ab <- do.call(rbind, regmatches(p$contrast, gregexpr("[0-9]+", p$contrast)))
    pairs_out[[length(pairs_out) + 1]] <- data.frame(design = design, model = m, a = ab[, 1], b = ab[, 2],
      mean_a = v[as.integer(ab[, 1])], difference = p$estimate, se = p$SE, df = p$df, p = p$p.value)
  }
}
write.csv(do.call(rbind, tables), "anova_tables.csv", row.names = FALSE, quote = FALSE)
write.csv(do.call(rbind, pairs_out), "anova_pairs.csv", row.names = FALSE, quote = FALSE)

# Claims: topics random by error strata; topics and shards random by REML with Satterthwaite df.
a <- summary(aov(y ~ system * shard + Error(topic + topic:system + topic:shard), claims))[["Error: topic:system"]][[1]]
m <- lmer(y ~ system + (1 | topic) + (1 | shard) + (1 | topic:system) + (1 | system:shard) + (1 | topic:shard), claims,
          control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-12)))
emm_options(lmerTest.limit = 1e6, lmer.df = "satterthwaite")
p <- as.data.frame(pairs(emmeans(m, "system"), adjust = "none"))
n <- 12 * 6
r <- data.frame(claim = c("topic", "topic+shard"),
                se = c(sqrt(2 * a[["Mean Sq"]][2] / n), p$SE[1]), df = c(a[["Df"]][2], p$df[1]))
stopifnot(!isSingular(m))
write.csv(r, "anova_claims.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, sapply(c("car", "emmeans", "lme4", "lmerTest"), function(x) paste(x, packageVersion(x)))), "anova_versions.txt")
