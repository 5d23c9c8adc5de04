import { Inbox } from '../inbox.ts';

/** What Firefox answers to a command, or sends by itself. */
interface Message {
  readonly id?: number;
  readonly type: 'success' | 'error' | 'event';
  readonly result?: unknown;
  readonly message?: string;
}

/** A tab of a Firefox that was started with `isDriven`, for pages that do not ask a test for steps. */
export interface DrivenTab extends Disposable {
  open(url: string): Promise<void>;
  /** Runs the body of an async function in the page, as after a click; returns the text that it returns. */
  run(body: string): Promise<string>;
}

/** Connects to the first tab. Source: WebDriver BiDi. */
export async function driveFirstTab(url: string): Promise<DrivenTab> {
  const socket = new WebSocket(`${url}/session`);
  const answers = new Inbox<Message>('Firefox');
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.type !== 'event') answers.put(message);
  });
  socket.addEventListener('close', () => answers.fail(new Error('Firefox ended the session')));
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  let id = 0;
  // One command at a time, so the next answer is its own.
  const command = async <T>(method: string, params: object): Promise<T> => {
    socket.send(JSON.stringify({ id: ++id, method, params }));
    const { type, result, message } = await answers.next();
    if (type === 'error') throw new Error(`${method}: ${message}`);
    return result as T;
  };
  await command('session.new', { capabilities: {} });
  const { contexts } = await command<{ readonly contexts: readonly { context: string }[] }>(
    'browsingContext.getTree',
    {},
  );
  const context = contexts[0]?.context;
  return {
    async open(page) {
      await command('browsingContext.navigate', { context, url: page, wait: 'complete' });
    },
    async run(body) {
      const { result, exceptionDetails } = await command<{
        readonly result?: { readonly value?: string };
        readonly exceptionDetails?: { readonly text: string };
      }>('script.callFunction', {
        functionDeclaration: `async () => { ${body} }`,
        target: { context },
        awaitPromise: true,
        userActivation: true,
      });
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
      return result?.value ?? '';
    },
    [Symbol.dispose]() {
      socket.close();
    },
  };
}
