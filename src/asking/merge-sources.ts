import type { SourceOfCluster, SourceOfServer } from './facts/sources.ts';
import type { AnswerOf } from './question.ts';

/** The sources that any server has, by their places. The figures are those of the follower, else of the first server that has some. */
export function mergeSources(
  all: readonly AnswerOf<readonly SourceOfServer[]>[],
): readonly SourceOfCluster[] {
  const found = new Map<string, SourceOfCluster>();
  for (const { node, answer } of all) {
    for (const { state, why, ...one } of answer) {
      const { source, url, schema, app, instance } = one;
      // While a configuration is changed, servers may have others.
      const key = JSON.stringify([source, url, schema, app, instance]);
      const before = found.get(key);
      const servers = [...(before?.servers ?? []), { server: node, state, why }];
      const isFollower = state === 'following';
      const known = before === undefined || isFollower || before.lagSeconds === null ? one : before;
      const follower = isFollower ? node : (before?.follower ?? null);
      found.set(key, { ...known, follower, servers });
    }
  }
  return [...found.values()].toSorted((a, b) => a.source - b.source);
}
