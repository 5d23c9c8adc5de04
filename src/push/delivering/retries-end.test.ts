import { beforeEach, describe, expect, it } from 'bun:test';
import type { Outcome } from '../gateway.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

const HOUR_MS = 3_600_000;

let scene: PipelineScene;
beforeEach(() => {
  scene = new PipelineScene();
  scene.retryMs = HOUR_MS;
});

const minutes = (count: number) => scene.time.advance(count * 60_000);

describe('the time for retries', () => {
  it('ends a publish that waits for one device that fails for good', async () => {
    const instance = scene.newInstance();
    const [dead] = await scene.registerMany(instance, 'fcm', 4);
    const id = await scene.publish(instance);
    scene.answer = ({ device }) => (device === dead ? tryAgain('gateway') : accepted);
    const pipeline = scene.start();
    await minutes(30);
    expect(await scene.counts(id)).toMatchObject({ state: 'delivering', retrying: 1 });
    await minutes(31);
    expect(await scene.counts(id)).toEqual({
      state: 'finished',
      planned: 4,
      accepted: 3,
      expired: 1,
    });
    expect(await scene.reasons(id)).toEqual([
      { platform: 'fcm', reason: 'retries-ended', devices: 1 },
    ]);
    expect(pipeline.figures().leftOut['retries-ended']).toBe(1);
    const { atMs } = scene.sends.findLast(({ device }) => device === dead) ?? { atMs: 0 };
    expect(atMs).toBeLessThan(HOUR_MS);
  });

  it('keeps a renewed credential from bringing all notifications of a long time at once', async () => {
    const refused: Outcome = { result: 'not-authorised', reason: 'Forbidden', words: '' };
    scene.answer = () => refused;
    const { instance, id: old } = await scene.publishTo(30);
    scene.start();
    await minutes(50);
    const young = await scene.publish(instance);
    await minutes(15);
    scene.answer = () => accepted;
    const before = scene.sends.length;
    await minutes(3);
    expect(await scene.counts(old)).toEqual({ state: 'finished', planned: 30, expired: 30 });
    await scene.expectAccepted(young, 30);
    expect(scene.sends.slice(before).filter(({ publish }) => publish === old)).toEqual([]);
  });
});
