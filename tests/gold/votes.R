# Strengths of votes.csv by R: BradleyTerry2 without ties, gnm with GenDavidson with ties; with and without position.
# Rscript tests/gold/votes.R in the folder tests/gold; writes votes_strengths.csv and votes_versions.txt.
suppressMessages({library(BradleyTerry2); library(gnm)})
votes <- read.csv("votes.csv")
levels <- sort(unique(c(votes$model_a, votes$model_b)))
out <- list()
keep <- function(model, name, value) out[[length(out) + 1]] <<- data.frame(model, name, value = sprintf("%.15g", value))
# without ties
wins <- votes[votes$winner != "tie", ]
a <- data.frame(id = factor(wins$model_a, levels), first = 1)
b <- data.frame(id = factor(wins$model_b, levels), first = 0)
won <- as.integer(wins$winner == "model_a")
control <- glm.control(epsilon = 1e-14, maxit = 100)
plain <- BTm(cbind(won, 1 - won), a, b, formula = ~ id, id = "id", control = control)
ability <- BTabilities(plain)
for (k in rownames(ability)) keep("bradley-terry", k, ability[k, "ability"] - mean(ability[, "ability"]))
ordered <- BTm(cbind(won, 1 - won), a, b, formula = ~ id + first, id = "id", control = control)
ability <- c(0, coef(ordered)[paste0("id", levels[-1])])
for (k in seq_along(levels)) keep("bradley-terry position", levels[k], ability[k] - mean(ability))
keep("bradley-terry position", "position", coef(ordered)[["first"]])
# with ties
tri <- expandCategorical(data.frame(result = factor(c(model_a = 1, tie = 0, model_b = -1)[votes$winner], c(-1, 0, 1)),
  a = factor(votes$model_a, levels), b = factor(votes$model_b, levels)), "result", idvar = "match", group = FALSE)
tri$here <- TRUE
tri$there <- FALSE
for (position in c(FALSE, TRUE)) {
  name <- if (position) "davidson position" else "davidson"
  if (position) fit <- gnm(count ~ GenDavidson(result == 1, result == 0, result == -1, a, b, home.adv = ~1, tie.max = ~1,
      at.home1 = here, at.home2 = there) - 1, eliminate = match, family = poisson, data = tri, tolerance = 1e-12, iterMax = 2000, verbose = FALSE)
  else fit <- gnm(count ~ GenDavidson(result == 1, result == 0, result == -1, a, b, tie.max = ~1) - 1,
      eliminate = match, family = poisson, data = tri, tolerance = 1e-12, iterMax = 2000, verbose = FALSE)

  ability <- coef(fit)[grepl("m[0-9]$", names(coef(fit)))]
  ability[is.na(ability)] <- 0
  for (k in seq_along(levels)) keep(name, levels[k], ability[k] - mean(ability))
  # expected chances of a tie and of a win of the first for the first vote
  p <- fitted(fit)[tri$match == 1]
  names(p) <- as.character(tri$result[tri$match == 1])
  keep(name, "win of vote 1", p[["1"]]); keep(name, "tie of vote 1", p[["0"]])
}
write.csv(do.call(rbind, out), "votes_strengths.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, paste("BradleyTerry2", packageVersion("BradleyTerry2")), paste("gnm", packageVersion("gnm"))), "votes_versions.txt")
