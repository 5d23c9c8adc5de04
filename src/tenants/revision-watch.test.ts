import { expect, it } from 'bun:test';
import { RevisionWatch } from './revision-watch.ts';

/** A store with one text in it, and what was heard of it. */
function watched() {
  const store = { revision: 1, text: 'a', fault: '', refused: '' };
  const heard: string[] = [];
  let works = true;
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (message: string, fields?: object) =>
      void heard.push(`${message} ${JSON.stringify(fields)}`),
  };
  const watch = new RevisionWatch({
    what: 'text',
    revision: async () => {
      if (store.fault !== '') throw new Error(store.fault);
      return store.revision;
    },
    read: async () => store.text,
    changed(text) {
      if (text === store.refused) throw new Error(`${text} cannot be served`);
      heard.push(text);
    },
    storeState(fault) {
      const isNews = works !== (fault === undefined);
      works = fault === undefined;
      return isNews;
    },
    log,
  });
  return { store, watch, heard, works: () => works };
}

it('tells what has changed, once', async () => {
  const { store, watch, heard } = watched();
  expect(await watch.begin()).toBe('a');
  await watch.look();
  expect(heard).toEqual([]);
  Object.assign(store, { revision: 2, text: 'b' });
  await Promise.all([watch.look(), watch.look()]);
  expect(heard).toEqual(['b']);
});

it('reads again without a change where that is asked for', async () => {
  const { watch, heard } = watched();
  await watch.begin();
  await watch.readAgain();
  expect(heard).toEqual(['a']);
});

it('looks by itself once it watches, and not any more when it has ended', async () => {
  const { store, watch, heard } = watched();
  await watch.begin();
  watch.watch();
  Object.assign(store, { revision: 2, text: 'b' });
  while (heard.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await watch[Symbol.asyncDispose]();
  expect(heard).toEqual(['b']);
});

it('says once that the store cannot be read, and goes on when it can', async () => {
  const { store, watch, heard, works } = watched();
  await watch.begin();
  store.fault = 'locked';
  await watch.look();
  await watch.look();
  expect(heard).toEqual(['The store cannot be read {"what":"text","why":"locked"}']);
  expect(works()).toBe(false);
  Object.assign(store, { revision: 2, text: 'b', fault: '' });
  await watch.look();
  expect(heard.at(-1)).toBe('b');
  expect(works()).toBe(true);
});

it('keeps what it knows where the store has become an older one', async () => {
  const { store, watch, heard, works } = watched();
  await watch.begin();
  Object.assign(store, { revision: 0, text: '' });
  await watch.look();
  await watch.readAgain();
  expect(heard).toEqual([expect.stringContaining('the store has gone back')]);
  expect(works()).toBe(false);
});

it('serves a change again that could not be served at first, and logs that once', async () => {
  const { store, watch, heard, works } = watched();
  await watch.begin();
  Object.assign(store, { revision: 2, text: 'b', refused: 'b' });
  await watch.look();
  await watch.look();
  expect(heard).toEqual([
    'A change in the store is not served yet {"what":"text","why":"b cannot be served"}',
  ]);
  expect(works()).toBe(true);
  store.refused = '';
  await watch.look();
  await watch.look();
  expect(heard.slice(1)).toEqual(['b']);
});

it('reads again later where the store could not be read when that was asked for', async () => {
  const { store, watch, heard } = watched();
  await watch.begin();
  store.fault = 'locked';
  await watch.readAgain();
  store.fault = '';
  await watch.look();
  await watch.look();
  expect(heard.slice(1)).toEqual(['a']);
});
