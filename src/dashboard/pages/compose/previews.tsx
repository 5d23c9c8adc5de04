import type { PublishPreview } from '../../api/answers.ts';
import { Card } from '../../parts/card.tsx';
import { Code } from '../../parts/code.tsx';
import { count } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { type Platform, platforms } from '../publishes/words.ts';
import { textOf } from './draft.ts';

type Request = PublishPreview['requests'][number];

const looks: Readonly<Record<Platform, string>> = {
  apns: 'iPhone, locked',
  fcm: 'Android, shade',
  web: 'Chrome, desktop',
};

/** How the draft looks on each platform, and what its gateway would get. */
export function Previews({
  body,
  preview,
}: {
  readonly body: Readonly<Record<string, unknown>>;
  readonly preview: PublishPreview | undefined;
}) {
  const shown = platforms.filter((platform) => body[platform] !== undefined);
  return (
    <Card
      title="What they see"
      aside={<span class="muted small">The layout, not the code of your app.</span>}
    >
      <div class="inside stack">
        {shown.length === 0 && <p class="muted">No platform is chosen.</p>}
        <div class="looks">
          {shown.map((platform) => (
            <figure key={platform} class={`look ${platform}`}>
              <figcaption>{looks[platform]}</figcaption>
              <div class="bubble">
                <strong>{textOf(body, 'title', platform) || 'No title'}</strong>
                <span>{textOf(body, 'body', platform)}</span>
              </div>
            </figure>
          ))}
        </div>
        {preview?.requests.map((request) => (
          <ExactRequest key={nameOf(request)} request={request} />
        ))}
      </div>
    </Card>
  );
}

function ExactRequest({ request }: { readonly request: Request }) {
  const { bytes, bytesMax, configured } = request;
  const name = nameOf(request);
  const isTooLarge = bytes > bytesMax;
  return (
    <details>
      <summary>
        Request of {name}{' '}
        <span class={isTooLarge ? 'bad' : 'muted'}>
          {count(bytes)} of {count(bytesMax)} B{isTooLarge ? ', too large' : ''}
        </span>{' '}
        {!configured && <span class="tag warn">no credential</span>}
      </summary>
      <Code label={`Exact request for ${name}`} text={asText(request)} />
    </details>
  );
}

function nameOf({ platform, only, language }: Request): string {
  const browser = only === null ? '' : ' in Safari';
  return `${platform}${browser}${language === null ? '' : `, ${language}`}`;
}

function asText({ platform, method, url, headers, body }: Request): string {
  const lines = headers.map(({ name, value }) => `${name}: ${value}`);
  const note = platform === 'web' ? ['', '# Before it is encrypted for the browser:'] : [''];
  const pretty = JSON.stringify(parsedJson(body), null, 2);
  return [`${method} ${url}`, ...lines, ...note, pretty].join('\n');
}
