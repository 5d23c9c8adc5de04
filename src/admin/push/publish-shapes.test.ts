import { expect, it } from 'bun:test';
import type { PauseOfCluster } from '../../asking/facts/gateways.ts';
import { NO_COUNTS, type PublishId } from '../../push/model/publish.ts';
import type { ListedPublish } from '../../stores/push/publishes/publish-list.ts';
import { showPublish } from './publish-shapes.ts';

const publish: ListedPublish = {
  id: 'pubid-1' as PublishId,
  state: 'delivering',
  kind: 'interests',
  createdAtMs: 1,
  sendAtMs: undefined,
  finishedAtMs: undefined,
  outline: { names: ['hello'], platforms: ['fcm'] },
  counts: NO_COUNTS,
  waiting: ['fcm'],
  delivered: 0,
  opened: 0,
};

const pause: PauseOfCluster = {
  platform: 'fcm',
  origin: undefined,
  why: 'gateway',
  reason: 'http-503',
  words: '',
  sinceMs: 5,
  servers: ['a'],
};

it('a publish is paused while its devices wait for a gateway that a server has paused', () => {
  const rights = { seesPayloads: true };
  const isPaused = (change: Partial<ListedPublish>, paused = [pause]) =>
    showPublish({ ...publish, ...change }, { rights, paused }).paused;
  expect(isPaused({})).toBe(true);
  expect(isPaused({}, [])).toBe(false);
  expect(isPaused({ waiting: ['apns'] })).toBe(false);
  expect(isPaused({ state: 'cancelled' })).toBe(false);
});
