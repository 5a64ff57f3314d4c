"""A stand-in for an evaluation: scores of a system on 200 questions as CSV."""

import random
import sys

system = sys.argv[1]
generator = random.Random(7)
print("question,model,score")
for question in range(200):
    difficulty = generator.random()
    gain = 0.02 if system == "new" else 0.0
    print(f"{question},{system},{min(1.0, difficulty + gain + generator.gauss(0.0, 0.05)):.4f}")
