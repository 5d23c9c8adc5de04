import type { Branded } from '../../runtime/branded.ts';

/** The id of a push instance, in lower case: it names the same instance in any case. */
export type InstanceId = Branded<'InstanceId'>;

/** Reads the id of an instance, however it is spelt. It need not exist. */
export function readInstanceId(text: string): InstanceId {
  return text.toLowerCase() as InstanceId;
}
