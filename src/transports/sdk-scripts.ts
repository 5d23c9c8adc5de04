import authorize from '../../sdk/authorize/index.js' with { type: 'text' };
import resume from '../../sdk/resume/index.js' with { type: 'text' };
import places from '../../sdk/resume/places.js' with { type: 'text' };
import { OPEN_TO_ALL } from './http-fallback/headers.ts';

interface Script {
  readonly text: string;
  readonly tag: string;
  /** Of an answer without the text. */
  readonly known: Headers;
  readonly found: Headers;
}

/** The plugins for pusher-js, by path. The types describe the modules; imported as text they are strings. */
const scripts: ReadonlyMap<string, Script> = new Map([
  ['/sdk/authorize.js', scriptOf(textOf(authorize))],
  ['/sdk/resume.js', scriptOf(inOne(textOf(places), textOf(resume)))],
]);

function textOf(module: unknown): string {
  return String(module);
}

/** Puts the module that another one imports in front of it: proxies let the one path of the script through. */
function inOne(imported: string, script: string): string {
  const [, own = ''] = script.split(/^import .*\n\n/);
  return `${imported.replace(/^export /m, '')}\n${own}`;
}

function scriptOf(text: string): Script {
  const tag = `"${Bun.hash(text).toString(36)}"`;
  const known = new Headers({
    ...OPEN_TO_ALL,
    etag: tag,
    'cache-control': 'public, max-age=3600, stale-while-revalidate=86400',
    'x-content-type-options': 'nosniff',
    // Cross-origin isolated sites refuse scripts without it.
    'cross-origin-resource-policy': 'cross-origin',
  });
  const found = new Headers([...known, ['content-type', 'text/javascript; charset=utf-8']]);
  return { text, tag, known, found };
}

/** Answers requests for the plugins for pusher-js in `sdk`; `undefined` for another path. */
export function answerSdkScript(request: Request, path: string): Response | undefined {
  const script = scripts.get(path);
  if (script === undefined) return undefined;
  const { method, headers } = request;
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  return headers.get('if-none-match')?.includes(script.tag) === true
    ? new Response(null, { status: 304, headers: script.known })
    : new Response(script.text, { headers: script.found });
}
