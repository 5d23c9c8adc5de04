import type { PresenceRule } from '../../api/answers.ts';
import { ChannelRules } from './channel-rules.tsx';
import { NumberField } from './number-field.tsx';

const NEW: PresenceRule = {
  channels: 'presence-*',
  graceSeconds: 10,
  members: null,
  shown: null,
  named: 0,
};

/** What an empty field means. */
const EMPTY = { members: 'as the limit of the app', shown: 'all: the channel is not large' };

/** The rules of presence channels. */
export function PresenceRules({
  rules,
  change,
  isReadOnly,
  faultOf,
}: {
  readonly rules: readonly PresenceRule[];
  readonly change: (rules: readonly PresenceRule[]) => void;
  readonly isReadOnly: boolean;
  readonly faultOf: (field: string) => string | undefined;
}) {
  return (
    <ChannelRules
      title="Presence"
      setting="presence"
      example="presence-*"
      rules={rules}
      change={change}
      fresh={NEW}
      add="Add a rule for presence"
      isReadOnly={isReadOnly}
      faultOf={faultOf}
      before={
        <p class="muted small">
          A member stays for the grace seconds after its last connection has ended. If it is back by
          then, others hear nothing. A channel with a number of shown members is large: its clients
          get counts, and each second as many joins and leaves as are named.
        </p>
      }
      numbersOf={(rule, put, path) =>
        (['graceSeconds', 'members', 'shown', 'named'] as const).map((name) => (
          <NumberField
            key={name}
            name={name}
            wrong={faultOf(path + name)}
            disabled={isReadOnly}
            value={rule[name]}
            change={(value) => put({ [name]: value })}
            {...((name === 'members' || name === 'shown') && {
              empty: { means: EMPTY[name], chosen: () => put({ [name]: null }) },
            })}
          />
        ))
      }
    />
  );
}
