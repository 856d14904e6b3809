"""Generates a social network from a seed, in the files that `lsqb.py` reads, with memberships.

Its shape is that of LDBC's generator as far as the nine patterns see it: friendships, posts, likes,
memberships and tags follow power laws, friends are often friends of friends, comments reply to
existing posts and comments, and the author of a message in a forum is its member. It is not LDBC's
network: counts differ, and figures are comparable only with each other.

    python bench/datalog/network.py FOLDER --persons 3000
"""

import argparse
from pathlib import Path

import numpy as np

TAGS, CLASSES, CITIES, COUNTRIES = 4000, 70, 600, 60


def popular(random: np.random.Generator, among: int, count: int, power: float = 0.8) -> np.ndarray:
    """Numbers below `among`; the n-th has a weight of n to the -`power`."""
    return np.minimum((among * random.random(count) ** (1 / (1 - power))).astype(np.int64), among - 1)


def friendships(random: np.random.Generator, persons: int) -> np.ndarray:
    """Distinct pairs of persons, the lower one first; half of them close triangles."""
    first = popular(random, persons, persons * 9, 0.5)
    second = random.integers(0, persons, persons * 9)
    pairs = np.stack([first, second], axis=1)
    order = np.argsort(first, kind="stable")
    begins = np.searchsorted(first[order], np.arange(persons + 1))
    has = np.flatnonzero(np.diff(begins) >= 2)
    middle = random.choice(has, persons * 9)
    one = begins[middle] + (random.random(len(middle)) * (begins[middle + 1] - begins[middle])).astype(np.int64)
    other = begins[middle] + (random.random(len(middle)) * (begins[middle + 1] - begins[middle])).astype(np.int64)
    closed = np.stack([second[order][one], second[order][other]], axis=1)
    pairs = np.sort(np.concatenate([pairs, closed]), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def write(folder: Path, name: str, first: np.ndarray, second: np.ndarray) -> None:
    """Writes one relation; equal pairs are written once."""
    pairs = np.unique(np.stack([first, second], axis=1), axis=0)
    with (folder / f"{name}.csv").open("w") as file:
        file.write("first|second\n")
        file.writelines(f"{a}|{b}\n" for a, b in pairs.tolist())


def main() -> None:
    """Writes all files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--persons", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder, persons = options.folder, options.persons
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(options.seed)
    person = random.permutation(persons) + 1

    knows = friendships(random, persons)
    write(folder, "Person_knows_Person", person[knows[:, 0]], person[knows[:, 1]])
    write(folder, "Person_isLocatedIn_Place", person, popular(random, CITIES, persons))
    write(folder, "Place_isPartOf_Place", np.arange(CITIES), CITIES + random.integers(0, COUNTRIES, CITIES))
    write(folder, "Tag_hasType_TagClass", np.arange(TAGS), popular(random, CLASSES, TAGS))
    interested = np.repeat(person, 23)
    write(folder, "Person_hasInterest_Tag", interested, popular(random, TAGS, len(interested)))

    forums, posts, comments = persons * 9, persons * 90, persons * 100
    moderators = person[popular(random, persons, forums, 0.4)]
    write(folder, "Forum_hasModerator_Person", np.arange(forums), moderators)
    joined = popular(random, forums, persons * 80, 0.6), person[popular(random, persons, persons * 80, 0.3)]
    # Messages below `posts` are posts, the following ones comments.
    home = popular(random, forums, posts, 0.6)
    author = np.concatenate(
        [person[popular(random, persons, posts, 0.5)], person[popular(random, persons, comments, 0.5)]]
    )
    write(folder, "Forum_containerOf_Post", home, np.arange(posts))
    members = np.concatenate([joined[0], home]), np.concatenate([joined[1], author[:posts]])
    write(folder, "Forum_hasMember_Person", *members)
    write(folder, "Post_hasCreator_Person", np.arange(posts), author[:posts])
    write(folder, "Comment_hasCreator_Person", posts + np.arange(comments), author[posts:])
    answered = (random.random(comments) * (posts + np.arange(comments))).astype(np.int64)
    to_post = answered < posts
    write(folder, "Comment_replyOf_Post", posts + np.flatnonzero(to_post), answered[to_post])
    write(folder, "Comment_replyOf_Comment", posts + np.flatnonzero(~to_post), answered[~to_post])
    likes = popular(random, posts + comments, persons * 70, 0.4)
    fans = person[popular(random, persons, len(likes), 0.5)]
    on_post = likes < posts
    write(folder, "Person_likes_Post", fans[on_post], likes[on_post])
    write(folder, "Person_likes_Comment", fans[~on_post], likes[~on_post])
    for name, begin, count in (("Post", 0, posts), ("Comment", posts, comments)):
        tagged = begin + random.integers(0, count, int(count * 1.2))
        write(folder, f"{name}_hasTag_Tag", tagged, popular(random, TAGS, len(tagged)))


if __name__ == "__main__":
    main()
