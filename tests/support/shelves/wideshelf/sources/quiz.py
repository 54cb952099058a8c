from quizshelf.sources.quiz import QUIZ

__all__ = ["QUIZ"]
