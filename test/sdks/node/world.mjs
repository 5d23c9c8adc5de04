import { isDeepStrictEqual } from 'node:util';

/** What the checks share: what the runner has told (../scene.ts), its answers, and the printing of results. */

export const told = JSON.parse(process.argv.at(-1));

/** Has what must be escaped in JSON, in HTML and in queries. */
export const PAYLOAD = { text: "Zoë's <b>☃</b> 1+1=2 & more" };

const WAIT_MS = 30_000;

/** Asks the runner for what a library cannot do or see. */
export async function ask(question, given = {}) {
  const body = JSON.stringify({ ask: question, ...given });
  const answer = await fetch(told.asksUrl, { method: 'POST', body });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.json();
}

export function same(actual, expected) {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

/** Makes one check and prints its result. */
export async function check(library, name, action) {
  let error = '';
  try {
    await action();
  } catch (problem) {
    error = problem instanceof Error ? `${problem.stack}` : JSON.stringify(problem);
  }
  console.log(JSON.stringify({ library, check: name, error }));
}

/** Waits for what a callback gets. */
export class Inbox {
  items = [];
  wake = () => undefined;

  put = (item) => {
    this.items.push(item);
    this.wake();
  };

  async next() {
    if (this.items.length === 0) {
      await new Promise((resolve, reject) => {
        this.wake = resolve;
        setTimeout(() => reject(new Error('nothing more was received')), WAIT_MS).unref();
      });
    }
    return this.items.shift();
  }
}
