import type { ComponentChildren } from 'preact';
import type { Failed } from '../api/client.ts';
import { session } from '../api/session.ts';
import { Button } from './controls.tsx';
import { Icon, type IconName } from './icons.tsx';

const icons = { ok: 'check', warn: 'problem', bad: 'cross' } as const;

/** One sentence that needs attention, with what to do about it. */
export function Notice({
  level,
  children,
  actions,
}: {
  readonly level: keyof typeof icons;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
}) {
  return (
    <div class={`notice ${level}`}>
      <Icon name={icons[level]} />
      <div>{children}</div>
      {actions !== undefined && <div class="buttons">{actions}</div>}
    </div>
  );
}

/** Why a question or an action failed, if it did, and what to do, by the status of the answer. */
export function FailureNotice({
  failed,
  retry,
}: {
  readonly failed: Failed | undefined;
  readonly retry?: (() => void) | undefined;
}) {
  return failed === undefined ? null : (
    <div role="alert">
      <Notice
        level={failed.status === 409 || failed.status === 404 ? 'warn' : 'bad'}
        actions={retry !== undefined && <Button onClick={retry}>Try again</Button>}
      >
        <p>{failed.message}</p>
        <p class="advice">{adviceFor(failed)}</p>
      </Notice>
    </div>
  );
}

function adviceFor({ status, field, message }: Failed): string {
  switch (status) {
    case 0:
      return 'Is the server running, and is the network up? What is shown may be old.';
    case 400:
      return field === undefined ? '' : `Look at “${field}”.`;
    case 403:
      return `You are ${session.value?.role ?? 'a viewer'} here. An administrator gives the role that this takes (admin.roles).`;
    case 404:
      return 'It may have ended or been deleted meanwhile.';
    case 409:
      return message.includes('is in the configuration')
        ? 'Change it in that file, then send SIGHUP.'
        : 'Something else must change before this is possible.';
    case 429:
      return 'Wait a moment, then try again.';
    case 503:
      return 'A part of the server does not answer. Home says which one.';
    default:
      return 'The log of the server says more.';
  }
}

/** An empty state: what was searched, and the next step. */
export function Empty({
  icon,
  title,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children}
    </div>
  );
}
