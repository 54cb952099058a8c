from oldshelf.sources.exams import EXAMS

__all__ = ["EXAMS"]
