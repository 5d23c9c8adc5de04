import { beforeEach, describe, expect, it } from 'bun:test';
import { InstanceTaps, type PushTapEvent, type PushTaps } from '../watching/push-tap.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

let scene: PipelineScene;
beforeEach(() => {
  scene = new PipelineScene();
});

const seconds = (count: number) => scene.time.advance(count * 1000);

describe('a watcher of an instance is shown', () => {
  it('each page and each outcome, and nothing of other instances', async () => {
    const taps = new InstanceTaps();
    const shown: PushTapEvent[] = [];
    const { instance, id } = await scene.publishTo(4);
    await scene.publishTo(2);
    taps.set(instance, { record: (event) => void shown.push(event) });
    const [, retried, refused, gone] = [1, 2, 3, 4].map((n) => `fcm-${n}`);
    let tries = 0;
    scene.answer = ({ device }) => {
      if (device === retried) return tries++ === 0 ? tryAgain('device') : accepted;
      if (device === refused) {
        return { result: 'refused', reason: 'bad', words: 'said so' };
      }
      if (device !== gone) return accepted;
      return { result: 'token-gone', reason: 'unregistered', sinceMs: undefined };
    };
    scene.start({ taps });
    await seconds(60);
    const [page, ...outcomes] = shown;
    expect(page).toEqual({ kind: 'planned', publish: id, platform: 'fcm', devices: 4 });
    const of = { publish: id, platform: 'fcm', user: undefined } as const;
    const failed = { ...of, attempts: 1, words: undefined, dueAtMs: undefined };
    expect(outcomes).toHaveLength(5);
    expect(outcomes.slice(0, 4)).toEqual(
      expect.arrayContaining([
        { kind: 'accepted', ...of, device: 'fcm-1' },
        {
          kind: 'retry',
          ...failed,
          device: 'fcm-2',
          reason: 'trouble',
          dueAtMs: expect.any(Number),
        },
        { kind: 'failed', ...failed, device: 'fcm-3', reason: 'bad', words: 'said so' },
        { kind: 'pruned', ...failed, device: 'fcm-4', reason: 'unregistered' },
      ]),
    );
    expect(outcomes.at(-1)).toEqual({ kind: 'accepted', ...of, device: 'fcm-2' });
    expect(await scene.counts(id)).toMatchObject({ accepted: 2, failed: 1, pruned: 1 });
  });

  it('devices that come back without an attempt, as the store counts them', async () => {
    const taps = new InstanceTaps();
    const shown: PushTapEvent[] = [];
    const { instance, id } = await scene.publishTo(3);
    taps.set(instance, { record: (event) => void shown.push(event) });
    scene.answer = ({ device }) => ({
      outcome: accepted,
      afterMs: device === 'fcm-1' ? 0 : undefined,
    });
    const pipeline = scene.start({ taps });
    await seconds(1);
    const stopped = pipeline.stop();
    await seconds(60);
    await stopped;
    const retries = shown.filter(({ kind }) => kind === 'retry');
    expect(retries.map(({ device, reason }) => [device, reason])).toEqual([
      ['fcm-2', 'no-outcome'],
      ['fcm-3', 'no-outcome'],
    ]);
    expect(await scene.counts(id)).toMatchObject({ retrying: 2 });
  });
});

it('while nobody watches, an outcome costs one field test', async () => {
  let tests = 0;
  const taps: PushTaps = {
    get watched() {
      tests++;
      return undefined;
    },
  };
  const { id } = await scene.publishTo(100);
  scene.start({ taps });
  await seconds(1);
  await scene.expectAccepted(id, 100);
  // One for each device, and one for their page.
  expect(tests).toBe(101);
});
