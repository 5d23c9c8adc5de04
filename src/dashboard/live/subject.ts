import {
  appFields,
  type FilterField,
  type Group,
  groups,
  pushFields,
  pushGroups,
} from './records.ts';

/** What a live page is about: an app or a push instance. */
export interface LiveSubject {
  readonly id: string;
  readonly isPush: boolean;
  readonly stream: 'GET /apps/{id}/stream' | 'GET /instances/{id}/stream';
  /** The command that prints the same. */
  readonly command: readonly string[];
  readonly groups: readonly Group[];
  /** The first one is what `counts` names the busiest of. */
  readonly fields: readonly FilterField[];
}

export function appSubject(id: string): LiveSubject {
  const command = ['tail', id];
  const stream = 'GET /apps/{id}/stream';
  return { id, isPush: false, stream, command, groups, fields: appFields };
}

export function instanceSubject(id: string): LiveSubject {
  const command = ['push', 'tail', id];
  const stream = 'GET /instances/{id}/stream';
  return { id, isPush: true, stream, command, groups: pushGroups, fields: pushFields };
}
