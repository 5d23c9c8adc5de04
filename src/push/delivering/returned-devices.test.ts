import { describe, expect, it } from 'bun:test';
import { Random } from '../../../testing/random.ts';
import { accepted, PipelineScene, tryAgain } from './pipeline-scene.fixture.ts';

const DEVICES = 600;

/** The gateway answers nothing until then. */
const SLOW_UNTIL_MS = 4_500;

/** A publish to devices that no gateway has accepted yet, and a server that has returned most of them to the store. */
async function slowStart() {
  const scene = new PipelineScene();
  scene.atOnce = 100;
  const instance = scene.newInstance();
  await scene.registerMany(instance, 'apns', DEVICES, { isNew: true });
  scene.answer = ({ atMs }) => ({ outcome: accepted, afterMs: Math.max(0, SLOW_UNTIL_MS - atMs) });
  const id = await scene.publish(instance, { apns: { aps: {} } });
  const start = () => scene.start({ random: new Random(1).next, isAlone: true });
  start();
  await scene.time.advance(SLOW_UNTIL_MS - 500);
  expect(scene.rowsWaiting()).toBeGreaterThan(DEVICES - 100);
  return { scene, id, start };
}

describe('devices whose turn took too long because their gateway was slow', () => {
  it('get the publish within seconds once it is quick again', async () => {
    const { scene, id } = await slowStart();
    await scene.time.advance(10_000);
    await scene.expectAccepted(id, DEVICES, 'apns');
  });

  it('get it within seconds from a server that has just started', async () => {
    const { scene, id, start } = await slowStart();
    scene.kill();
    start();
    await scene.time.advance(10_000);
    await scene.expectAccepted(id, DEVICES, 'apns');
  });

  it('come back as slowly as before while their gateway answers nothing', async () => {
    const { scene } = await slowStart();
    scene.answer = () => ({ outcome: tryAgain('device'), afterMs: 15_000 });
    const before = scene.sends.length;
    await scene.time.advance(20_000);
    // 10 a second.
    expect(scene.sends.length - before).toBeLessThan(220);
  });
});
