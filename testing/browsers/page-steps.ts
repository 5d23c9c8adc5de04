import { Inbox } from '../inbox.ts';

/** The result of a step in the page. */
interface StepResult {
  readonly value?: unknown;
  readonly error?: string;
}

/** Where the page asks for its steps. */
const PATH = '/step';

/** What a page does for a test, step by step, in a browser without a driver. */
export class PageSteps {
  /** The part of a page's script that asks for steps. */
  static readonly SCRIPT = `
  (async () => {
    const AsyncFunction = (async () => {}).constructor;
    let result = null;
    for (;;) {
      const answer = await fetch('${PATH}', { method: 'POST', body: JSON.stringify(result) });
      try {
        result = { value: await new AsyncFunction(await answer.text())() };
      } catch (error) {
        result = { error: String(error?.message ?? error) };
      }
    }
  })();`;

  private readonly asking = new Inbox<(step: string) => void>('The page, which nobody has open,');
  private readonly opening = Promise.withResolvers<void>();
  private readonly results = new Inbox<StepResult>('The page, in the middle of a step,');

  /** Settles when a browser has opened the page. */
  get opened(): Promise<void> {
    return this.opening.promise;
  }

  /**
   * Runs the body of an async function in the page, which a browser must have open; returns what it returns, as JSON.
   */
  async run(body: string): Promise<unknown> {
    const give = await this.asking.next();
    give(body);
    const { value, error } = await this.results.next();
    if (error !== undefined) throw new Error(error);
    return value;
  }

  /** Loads the page again. */
  async reload(): Promise<void> {
    const give = await this.asking.next();
    // It never ends, so the page that goes away does not ask once more.
    give('location.reload(); await new Promise(() => {});');
  }

  /**
   * Answers a request of the page, or nothing if it is none for a step. A page waits for its next step for as long as
   * the test needs for other things, so its server must have no idle timeout.
   */
  async answer(request: Request, path: string): Promise<Response | undefined> {
    if (path !== PATH) return undefined;
    this.opening.resolve();
    // The page reports the result of the last step, if there was one, and waits for the next.
    const result = (await request.json()) as StepResult | null;
    if (result !== null) this.results.put(result);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.asking.put(resolve);
    return new Response(await promise, { headers: { 'content-type': 'text/plain' } });
  }
}
