import { useEffect, useState } from 'preact/hooks';
import type { PublishPreview } from '../../api/answers.ts';
import { call, type Failed, failedOf } from '../../api/client.ts';
import { asCurl, asFanfare } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { count, counted, duration } from '../../parts/formats.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { address } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { draft, liveOf, namesOf, withNames } from './draft.ts';
import { DraftEditor } from './draft-editor.tsx';
import { Previews } from './previews.tsx';
import { SendDraft } from './send-draft.tsx';
import { ThisBrowser } from './this-browser.tsx';

const TYPING_MS = 300;

/** What will they see, and who gets it? */
export default function ComposePage({ instance }: { readonly instance: string }) {
  // Before the form is drawn, which begins with the names of the draft.
  useState(() => {
    const { interests, users } = address.value.query;
    if (users !== undefined) draft.value = withNames(draft.value, 'users', users);
    else if (interests !== undefined) draft.value = withNames(draft.value, 'interests', interests);
  });
  const [isBroken, setBroken] = useState(false);
  const { preview, failed, last } = usePreview(instance, draft.value);
  const shown = isBroken ? undefined : preview;
  return (
    <div class="page">
      <PageHead
        title="Compose"
        of={instances.nameOfId(instance)}
        says={failed === undefined ? audienceWords(shown) : undefined}
        commands={[
          { name: 'curl', text: () => curlOf(instance) },
          { name: 'fanfare', text: () => commandOf(instance) },
        ]}
      />
      <FailureNotice failed={failed} />
      <div class="compose">
        <DraftEditor isBroken={isBroken} setBroken={setBroken}>
          <SendDraft instance={instance} preview={shown} />
        </DraftEditor>
        <div class="stack">
          <Previews body={draft.value} preview={isBroken ? undefined : (preview ?? last)} />
          <ThisBrowser instance={instance} />
        </div>
      </div>
    </div>
  );
}

interface AskedPreview {
  /** The draft. */
  readonly of: string;
  readonly preview?: PublishPreview;
  readonly failed?: Failed;
}

const NOT_ASKED: AskedPreview = { of: '' };

/** The server's preview of a draft, requested again after a pause in typing. */
function usePreview(instance: string, body: object) {
  const text = JSON.stringify(body);
  const [state, setState] = useState<AskedPreview>({ of: '' });
  useEffect(() => {
    if (!may('support')) return undefined;
    const stopping = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const given = { path: { id: instance }, body: JSON.parse(text) };
        const preview = await call('POST /instances/{id}/previews', given, stopping.signal);
        setState({ of: text, preview });
      } catch (error) {
        if (stopping.signal.aborted) return;
        setState({ of: text, failed: failedOf(error) });
      }
    }, TYPING_MS);
    return () => {
      stopping.abort();
      clearTimeout(timer);
    };
  }, [instance, text]);
  // The requests of the draft before stay open until there are others.
  return { ...(state.of === text ? state : NOT_ASKED), last: state.preview };
}

function audienceWords(preview: PublishPreview | undefined): string {
  if (!may('support')) return 'Previews take the role support.';
  const audience = preview?.audience;
  if (preview === undefined) return 'Asking what it would do …';
  if (audience === null || audience === undefined) {
    return preview.faults.length > 0 ? 'The server would refuse it as it is.' : 'It has no target.';
  }
  const { devices, platforms, more } = audience;
  const { live } = preview;
  const here = live === null ? '' : ` ${liveWords(live)}`;
  const others = leftOutWords(audience);
  if (devices === 0) {
    const why = others === '' ? ` now: ${whoIsMissing()}` : '';
    return `No device would get it${why}.${others}${here}`;
  }
  const parts = Object.entries(platforms).map(([name, many]) => `${count(many)} ${name}`);
  return `${more ? 'More than ' : ''}${counted(devices, 'device')} would get it${laterWords(audience)}: ${parts.join(' · ')}.${paceWords(devices, more)}${languageWords(audience)}${others}${here}`;
}

type Audience = NonNullable<PublishPreview['audience']>;

function laterWords({ later, quiet }: Audience): string {
  if (later === 0) return ' now';
  const waiting = quiet === 0 ? '' : ` (${count(quiet)} after their quiet hours)`;
  return `, ${count(later)} of them later${waiting}`;
}

/** How long it takes, if it has `perSecond`. */
function paceWords(devices: number, more: boolean): string {
  const { perSecond } = draft.value;
  if (typeof perSecond !== 'number' || perSecond < 1) return '';
  const time = duration((devices / perSecond) * 1000);
  return ` At ${count(perSecond)} per second that takes ${more ? 'more than ' : ''}${time}.`;
}

function languageWords({ languages }: Audience): string {
  const parts = languages.map(({ language, devices }) => `${count(devices)} in ${language}`);
  return parts.length === 0 ? '' : ` Of them ${parts.join(', ')}.`;
}

/** The devices that it is for, and that would not get it. */
function leftOutWords({ overCap, tooLate }: Audience): string {
  const cap = overCap === 0 ? '' : ` ${counted(overCap, 'device')} would not: over the cap.`;
  const late =
    tooLate === 0
      ? ''
      : ` ${counted(tooLate, 'device')} would not: its time to live ends in their quiet hours.`;
  return cap + late;
}

function liveWords({
  asked,
  reached,
  silent,
  absent,
}: NonNullable<PublishPreview['live']>): string {
  const how = liveOf(draft.value, 'push') === 'always' ? 'as well' : 'instead';
  return `In the app, ${reached} of ${counted(asked, 'user')} would get it ${how}: ${silent} silent, ${absent} absent.`;
}

function whoIsMissing(): string {
  const { kind, text } = namesOf(draft.value);
  return kind === 'users' ? `none belongs to ${text}` : `none is subscribed to ${text}`;
}

function curlOf(instance: string): string {
  return asCurl('POST /instances/{id}/publishes', { path: { id: instance }, body: draft.value });
}

function commandOf(instance: string): string {
  return asFanfare(['push', 'send', instance, JSON.stringify(draft.value)]);
}
