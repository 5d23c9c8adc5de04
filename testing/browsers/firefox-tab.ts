import { eventually } from '../eventually.ts';
import { type FirefoxOptions, startFirefox } from './firefox.ts';

/** One tab of Firefox, driven by WebDriver BiDi. */
export interface FirefoxTab extends AsyncDisposable {
  /** What the tab has complained about so far: messages of the console, and thrown errors. */
  readonly complaints: readonly string[];
  /** Opens an address, and settles when it is loaded. */
  open(url: string): Promise<void>;
  /** Returns the page this size, in CSS pixels. */
  resize(width: number, height: number): Promise<void>;
  /** The value of an expression in the page: a string, a number or a boolean. */
  evaluate(expression: string): Promise<unknown>;
  /** Settles when an expression in the page is true. */
  until(expression: string): Promise<void>;
}

/** A message of WebDriver BiDi: the answer to a command, or an event. */
interface Message {
  readonly id?: number;
  readonly error?: string;
  readonly message?: string;
  readonly method?: string;
  readonly params?: { readonly level?: string; readonly text?: string };
  readonly result?: unknown;
}

/** Starts Firefox with an empty tab. */
export async function startFirefoxTab(options: FirefoxOptions = {}): Promise<FirefoxTab> {
  await using parts = new AsyncDisposableStack();
  const firefox = parts.use(await startFirefox(['--remote-debugging-port=0'], options));
  const printed = () => /BiDi listening on (ws:\S+)/.exec(firefox.output())?.[1];
  const address = await eventually(printed, (found) => found !== undefined);
  const socket = new WebSocket(`${address}/session`);
  parts.defer(() => socket.close());
  const complaints: string[] = [];
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  socket.onmessage = ({ data }) => {
    const { id, error, message, method, params, result }: Message = JSON.parse(String(data));
    const asked = waiting.get(id ?? 0);
    if (asked === undefined) {
      if (method === 'log.entryAdded') complaints.push(`${params?.level}: ${params?.text}`);
    } else if (error === undefined) asked.resolve(result);
    else asked.reject(new Error(`${error}: ${message}`));
  };
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  socket.onclose = () => ended.reject(new Error(`Firefox has ended: ${firefox.output()}`));
  const opened = Promise.withResolvers<void>();
  socket.onopen = () => opened.resolve();
  await Promise.race([opened.promise, ended.promise]);

  let lastId = 0;
  const command = async (method: string, params: object): Promise<unknown> => {
    const answer = Promise.withResolvers<unknown>();
    const id = ++lastId;
    waiting.set(id, answer);
    socket.send(JSON.stringify({ id, method, params }));
    return await Promise.race([answer.promise, ended.promise]);
  };
  await command('session.new', { capabilities: {} });
  await command('session.subscribe', { events: ['log.entryAdded'] });
  const { context } = (await command('browsingContext.create', { type: 'tab' })) as {
    context: string;
  };

  const evaluate = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = (await command('script.evaluate', {
      expression,
      target: { context },
      awaitPromise: true,
    })) as { result?: { value?: unknown }; exceptionDetails?: { text: string } };
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result?.value;
  };
  const running = parts.move();
  return {
    complaints,
    evaluate,
    async open(url) {
      await command('browsingContext.navigate', { context, url, wait: 'complete' });
    },
    async resize(width, height) {
      await command('browsingContext.setViewport', { context, viewport: { width, height } });
    },
    async until(expression) {
      await eventually(
        () => evaluate(expression),
        (value) => value === true,
      );
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
