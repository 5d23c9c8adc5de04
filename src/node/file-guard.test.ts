import { describe, expect, it } from 'bun:test';
import { FileGuard } from './file-guard.ts';
import { shareOpenFiles } from './open-files.ts';

function stage() {
  const calls: string[] = [];
  const lines: string[] = [];
  let used = 0;
  let opens = true;
  let servers = 1;
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const line = (message: string) => lines.push(message);
  const guard = new FileGuard({
    openFiles: shareOpenFiles(1000),
    listeners: {
      get serverCount() {
        return servers;
      },
      pause: () => calls.push('pause'),
      resume() {
        calls.push('resume');
        if (!opens) throw new Error('EADDRINUSE');
      },
    },
    log: { debug: line, info: line, warn: line, error: line },
    clock,
    count: () => used,
  });
  return {
    calls,
    clock,
    serversAre: (count: number) => {
      servers = count;
    },
    lines,
    fails: (fails: boolean) => {
      opens = !fails;
    },
    /** After the shortest pause. */
    check(now: number, pushConnections = 0) {
      used = now;
      clock.nowMs += 50;
      guard.check(pushConnections);
      return calls.splice(0);
    },
  };
}

describe('FileGuard', () => {
  const { threshold } = shareOpenFiles(1000);

  it('pauses the listener while too many files are open', () => {
    const { check, lines } = stage();
    expect(check(threshold - 1)).toEqual([]);
    expect(check(threshold)).toEqual(['pause']);
    expect(check(1000)).toEqual([]);
    expect(check(threshold - 1)).toEqual([]);
    expect(check(threshold / 2)).toEqual(['resume']);
    expect(check(threshold / 2)).toEqual([]);
    expect(check(threshold)).toEqual(['pause']);
    expect(lines).toHaveLength(3);
  });

  it('does not count push connections', () => {
    const { check } = stage();
    expect(check(threshold + 99, 100)).toEqual([]);
    expect(check(threshold + 100, 100)).toEqual(['pause']);
    expect(check(1000, 1000)).toEqual([]);
  });

  it.each([
    [1, 50],
    [10, 500],
    [1000, 12_000],
  ])('rests longer the more servers there are: with %p for %p ms', (servers, pauseMs) => {
    const { check, clock, serversAre } = stage();
    serversAre(servers);
    expect(check(threshold)).toEqual(['pause']);
    clock.nowMs += pauseMs - 51;
    expect(check(0)).toEqual([]);
    clock.nowMs -= 49;
    expect(check(0)).toEqual(['resume']);
  });

  it('retries to open the listener after a failure', () => {
    const { check, fails } = stage();
    check(1000);
    fails(true);
    expect(check(0)).toEqual(['resume']);
    fails(false);
    expect(check(0)).toEqual(['resume']);
    expect(check(0)).toEqual([]);
  });
});
