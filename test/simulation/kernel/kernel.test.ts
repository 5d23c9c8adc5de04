import { describe, expect, it } from 'bun:test';
import { Context } from './context.ts';
import { Kernel } from './kernel.ts';

function stage() {
  const kernel = new Kernel(1);
  const server = new Context('server');
  const happened: string[] = [];
  const note = (what: string) => () =>
    void happened.push(`${what} at ${kernel.nowMs} of ${kernel.context.name}`);
  return { kernel, server, happened, note };
}

describe('virtual time', () => {
  it('lets things happen in their order, with all promises that they settle', () => {
    const { kernel, happened, note } = stage();
    kernel.after(20, note('third'));
    kernel.after(10, () => void Promise.resolve().then(note('first')));
    kernel.after(10, note('second'));
    kernel.after(10, note('never'))();
    kernel.runUntil(15);
    expect(happened).toEqual(['first at 10 of world', 'second at 10 of world']);
    kernel.runUntil(30);
    expect(happened.slice(2)).toEqual(['third at 20 of world']);
    expect(kernel.nowMs).toBe(30);
  });

  it('drops what a dead server had scheduled, and delays what a paused one had', () => {
    const { kernel, server, happened, note } = stage();
    kernel.after(0, () => kernel.after(10, note('its own')), server);
    kernel.after(0, () => kernel.after(20, note('later')), server);
    kernel.after(5, () => {
      server.pausedUntilMs = 1000;
    });
    kernel.runUntil(1010);
    expect(happened).toEqual(['its own at 1000 of server', 'later at 1000 of server']);
    kernel.after(0, () => kernel.after(10, note('never')), server);
    kernel.after(5, () => {
      server.isDead = true;
    });
    kernel.runUntil(2000);
    expect(happened).toHaveLength(2);
  });
});
