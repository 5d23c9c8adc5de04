import { expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import { RevisionPoller } from './revision-poller.ts';

/** A store that holds one text, and what the poller reported of it. */
function polled() {
  const store = { revision: 1, text: 'a', fault: '', refused: '' };
  const reported: string[] = [];
  const time = new FakeTime();
  let works = true;
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (message: string, fields?: object) =>
      void reported.push(`${message} ${JSON.stringify(fields)}`),
  };
  const poller = new RevisionPoller({
    what: 'text',
    revision: async () => {
      if (store.fault !== '') throw new Error(store.fault);
      return store.revision;
    },
    read: async () => store.text,
    changed(text) {
      if (text === store.refused) throw new Error(`${text} cannot be served`);
      reported.push(text);
    },
    storeState(fault) {
      const hasChanged = works !== (fault === undefined);
      works = fault === undefined;
      return hasChanged;
    },
    timers: time,
    log,
  });
  return { store, poller, reported, time, works: () => works };
}

it('reports a change once', async () => {
  const { store, poller, reported } = polled();
  expect(await poller.readFirst()).toBe('a');
  await poller.poll();
  expect(reported).toEqual([]);
  Object.assign(store, { revision: 2, text: 'b' });
  await Promise.all([poller.poll(), poller.poll()]);
  expect(reported).toEqual(['b']);
});

it('reads again without a change if asked to', async () => {
  const { poller, reported } = polled();
  await poller.readFirst();
  await poller.readAgain();
  expect(reported).toEqual(['a']);
});

it('polls by itself once started, and stops when it is disposed', async () => {
  const { store, poller, reported, time } = polled();
  await poller.readFirst();
  poller.start();
  Object.assign(store, { revision: 2, text: 'b' });
  await time.advance(500);
  expect(reported).toEqual(['b']);
  await poller[Symbol.asyncDispose]();
  Object.assign(store, { revision: 3, text: 'c' });
  await time.advance(5_000);
  expect(reported).toEqual(['b']);
});

it('logs once that the store cannot be read, and continues when it can', async () => {
  const { store, poller, reported, works } = polled();
  await poller.readFirst();
  store.fault = 'locked';
  await poller.poll();
  await poller.poll();
  expect(reported).toEqual(['The store cannot be read {"what":"text","why":"locked"}']);
  expect(works()).toBe(false);
  Object.assign(store, { revision: 2, text: 'b', fault: '' });
  await poller.poll();
  expect(reported.at(-1)).toBe('b');
  expect(works()).toBe(true);
});

it('keeps what it has if the store goes back to an earlier revision', async () => {
  const { store, poller, reported, works } = polled();
  await poller.readFirst();
  Object.assign(store, { revision: 0, text: '' });
  await poller.poll();
  await poller.readAgain();
  expect(reported).toEqual([expect.stringContaining('the store has gone back')]);
  expect(works()).toBe(false);
});

it('retries a change that could not be taken over, and logs the failure once', async () => {
  const { store, poller, reported, works } = polled();
  await poller.readFirst();
  Object.assign(store, { revision: 2, text: 'b', refused: 'b' });
  await poller.poll();
  await poller.poll();
  expect(reported).toEqual([
    'A change in the store is not served yet {"what":"text","why":"b cannot be served"}',
  ]);
  expect(works()).toBe(true);
  store.refused = '';
  await poller.poll();
  await poller.poll();
  expect(reported.slice(1)).toEqual(['b']);
});

it('reads again later if the store could not be read when it was asked to', async () => {
  const { store, poller, reported } = polled();
  await poller.readFirst();
  store.fault = 'locked';
  await poller.readAgain();
  store.fault = '';
  await poller.poll();
  await poller.poll();
  expect(reported.slice(1)).toEqual(['a']);
});
