import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { join } from 'node:path';
import Pusher from 'pusher';
import { EventReader } from '../../testing/clients/event-reader.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { fanfareOf, type Program, startProgram } from './program.ts';

/** `examples/ai-chat`, started as its README says. */

setDefaultTimeout(180_000);

const parts = new AsyncDisposableStack();
let port: number;
let page: Program;
let origin: string;

beforeAll(async () => {
  const directory = parts.use(temporaryDirectory());
  ({ port } = parts.use(await fanfareOf('ai-chat', directory.path)));
  const environment = { FANFARE_PORT: String(port), PORT: '0' };
  page = parts.use(await startProgram('ai-chat', 'start', { environment }));
  origin = await page.origin;
});
afterAll(() => parts.disposeAsync());

const post = (path: string, body: string) => fetch(`${origin}${path}`, { method: 'POST', body });

/** A tab: the page's URL, opened. */
async function openTab(): Promise<EventReader> {
  const url = new URL(await (await fetch(`${origin}/stream-url`)).text());
  const reader = await EventReader.open({ port }, `${url.pathname}${url.search}`);
  await reader.confirmed();
  return reader;
}

describe('the example of a chat with a model', () => {
  it('shows the whole answer in a tab that comes late, and stops', async () => {
    expect(await (await fetch(origin)).text()).toContain('new EventSource');
    await using first = await openTab();
    expect((await post('/ask', 'why?')).status).toBe(202);
    const begun = JSON.parse(await first.message());
    expect(begun.at).toBe(0);
    expect(begun.text).toStartWith('You ');
    await first.message();
    await using second = await openTab();
    const whole = JSON.parse(await second.message());
    expect(whole).toMatchObject({ id: begun.id, at: 0 });
    expect(whole.text.length).toBeGreaterThan(begun.text.length);
    expect((await post('/stop', begun.id)).status).toBe(204);
    let last = whole;
    while (last.end !== true) last = JSON.parse(await second.message());
    // Much of the answer was not given.
    expect(last.at).toBeLessThan(400);
  });
});

describe('the routes of the AI SDK', () => {
  it('give the whole stream again after a reload, and nothing when it has ended', async () => {
    const pusher = new Pusher({
      appId: '1',
      key: 'ai-chat-key',
      secret: 'ai-chat-secret',
      host: '127.0.0.1',
      port: String(port),
      useTLS: false,
    });
    const { chatRoutes } = await import(join(import.meta.dir, '../../examples/ai-chat/ai-sdk.mjs'));
    let active: string | null = null;
    let model: ReadableStreamDefaultController<string> | undefined;
    const routes = chatRoutes({
      pusher,
      app: '1',
      url: `http://127.0.0.1:${port}`,
      newId: () => 'stream-1',
      chats: {
        setActiveStream: async (_: string, id: string | null) => {
          active = id;
        },
        activeStream: async () => active,
      },
      streamAnswer: async (
        _id: string,
        _message: string,
        { consumeSseStream }: { consumeSseStream(given: object): Promise<void> },
      ) => {
        const stream = new ReadableStream<string>({
          start: (controller) => {
            model = controller;
          },
        });
        await consumeSseStream({ stream });
        return new Response();
      },
    });
    expect((await routes.get('chat')).status).toBe(204);
    await routes.post('chat', 'why?');
    model?.enqueue('data: {"type":"start"}\n\n');
    const reload: Response = await eventually(
      () => routes.get('chat'),
      ({ status }) => status === 200,
    );
    expect(reload.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    model?.enqueue('data: [DONE]\n\n');
    model?.close();
    expect(await reload.text()).toBe('data: {"type":"start"}\n\ndata: [DONE]\n\n');
    expect((await routes.get('chat')).status).toBe(204);
  });
});
