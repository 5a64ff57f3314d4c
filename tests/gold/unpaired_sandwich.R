# CR2 variances of unpaired means by sandwich: Rscript unpaired_sandwich.R, in this folder
suppressMessages(library(sandwich))
set.seed(1)
users <- 40
sizes <- sample(1:6, users, replace = TRUE)
user <- rep(seq_len(users), sizes)
variant <- ifelse(user %% 3 == 0, "b", "a")
score <- round(rnorm(users)[user] + rnorm(length(user)) + (variant == "b"), 4)
table <- data.frame(session = seq_along(user), user = paste0("u", user), variant = variant, score = score)
write.csv(table, "unpaired_sessions.csv", row.names = FALSE, quote = FALSE)
fit <- lm(score ~ 0 + variant, table)
robust <- vcovCL(fit, cluster = ~user, type = "HC2")
write.csv(data.frame(variant = c("a", "b"), mean = coef(fit), variance = diag(robust)),
          "unpaired_sandwich.csv", row.names = FALSE, quote = FALSE)
