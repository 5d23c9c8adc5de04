import { describe, expect, it } from 'bun:test';
import { Backlog } from './backlog.ts';
import { connectionsOf, fakeSocket } from './socket.fixture.ts';

const BUFFER = 1000;

function stage() {
  const [slow, fine] = [fakeSocket(), fakeSocket()];
  const { connections } = connectionsOf([slow, fine]);
  return { slow, fine, backlog: new Backlog(connections, BUFFER) };
}

describe('a connection that ended without a close frame', () => {
  it('went away, when nothing waited for it', () => {
    const { slow, backlog } = stage();
    backlog.published(10_000);
    backlog.sample();

    expect(backlog.wasTooSlow(slow.socket)).toBe(false);
  });

  it('read too slowly, when a buffer waited for it', () => {
    const { slow, fine, backlog } = stage();
    slow.waiting = BUFFER;

    backlog.sample();

    expect(backlog.wasTooSlow(fine.socket)).toBe(false);
    expect(backlog.wasTooSlow(slow.socket)).toBe(true);
  });

  it('read too slowly, when what came since it was seen may have filled its buffer', () => {
    const { slow, backlog } = stage();
    slow.waiting = 400;
    backlog.sample();
    backlog.published(100);
    expect(backlog.wasTooSlow(slow.socket)).toBe(false);

    backlog.sample();
    backlog.published(200);
    slow.waiting = 0;
    backlog.published(40);
    // A quarter of a buffer was not published yet since it was seen, so that is all that is known of it.
    expect(backlog.wasTooSlow(slow.socket)).toBe(false);
  });

  it('is seen before it can fill its buffer, between two looks at the clock', () => {
    const { slow, backlog } = stage();
    for (let bytes = 0; bytes <= BUFFER; bytes += 100) {
      backlog.published(100);
      slow.waiting = bytes;
    }

    expect(backlog.wasTooSlow(slow.socket)).toBe(true);
  });

  it('read too slowly, when it was its own answers that waited', () => {
    const { slow, fine, backlog } = stage();
    slow.waiting = BUFFER + 1;
    backlog.answered(slow.socket);
    backlog.answered(fine.socket);

    expect(backlog.wasTooSlow(slow.socket)).toBe(true);
    expect(backlog.wasTooSlow(fine.socket)).toBe(false);
  });

  it('is not called slow for what it has read since', () => {
    const { slow, backlog } = stage();
    slow.waiting = BUFFER;
    backlog.sample();
    slow.waiting = 0;
    backlog.answered(slow.socket);
    expect(backlog.wasTooSlow(slow.socket)).toBe(false);

    slow.waiting = BUFFER;
    backlog.answered(slow.socket);
    slow.waiting = 0;
    backlog.sample();
    expect(backlog.wasTooSlow(slow.socket)).toBe(false);
  });

  it('is judged once', () => {
    const { slow, backlog } = stage();
    slow.waiting = BUFFER;
    backlog.sample();

    expect(backlog.wasTooSlow(slow.socket)).toBe(true);
    expect(backlog.wasTooSlow(slow.socket)).toBe(false);
  });
});
