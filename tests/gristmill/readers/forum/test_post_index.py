"""Posts sorted on disk."""

import random

from gristmill.readers.forum.post_index import PostIndex, PostPlace


def test_threads_come_by_id_with_the_question_first_and_the_best_answers_next() -> None:
    posts = [
        PostPlace(1, 1, -5, 0, 1), PostPlace(1, 9, 7, 9, 10), PostPlace(1, 4, 3, 4, 5), PostPlace(1, 5, 3, 5, 6),
        PostPlace(2, 2, 0, 2, 3), PostPlace(3, 8, 1, 8, 9),
    ]  # fmt: skip
    for seed in range(3):
        mixed = random.Random(seed).sample(posts, len(posts))
        with PostIndex() as index:
            for post in mixed:
                index.add(post)
            assert list(index.posts_by_thread()) == [posts[:4], posts[4:5], posts[5:]]


def test_more_posts_than_one_batch() -> None:
    with PostIndex() as index:
        for post in range(25_000):
            index.add(PostPlace(post // 5, post, 0, 0, 0))
        assert [len(thread) for thread in index.posts_by_thread()] == [5] * 5000
