import { useState } from 'preact/hooks';
import type { HistoryRule } from '../../api/answers.ts';
import { bytes, count } from '../../parts/formats.ts';
import { ChannelRules } from './channel-rules.tsx';
import { NumberField } from './number-field.tsx';

const NEW: HistoryRule = { channels: '', seconds: 120, events: 100, bytes: 1_048_576, replay: 0 };

const numbers = ['seconds', 'events', 'bytes', 'replay'] as const;

/** The cost of an event in addition to its frame. */
const EVENT_BYTES = 200;

/** The history rules of channels, with a forecast of memory. */
export function HistoryRules({
  rules,
  change,
  appBytes,
  isReadOnly,
  faultOf,
}: {
  readonly rules: readonly HistoryRule[];
  readonly change: (rules: readonly HistoryRule[]) => void;
  /** What the app may keep; 0: no limit of its own. */
  readonly appBytes: number;
  readonly isReadOnly: boolean;
  readonly faultOf: (field: string) => string | undefined;
}) {
  return (
    <ChannelRules
      title="History"
      setting="history"
      example="chat-*"
      rules={rules}
      change={change}
      fresh={NEW}
      add="Add a rule"
      isReadOnly={isReadOnly}
      faultOf={faultOf}
      after={rules.length > 0 && <Forecast rules={rules} appBytes={appBytes} />}
      numbersOf={(rule, put, path) =>
        numbers.map((name) => (
          <NumberField
            key={name}
            name={name}
            wrong={faultOf(path + name)}
            disabled={isReadOnly}
            value={rule[name]}
            change={(value) => put({ [name]: value })}
          />
        ))
      }
    />
  );
}

/** The memory for busy channels. */
function Forecast({
  rules,
  appBytes,
}: {
  readonly rules: readonly HistoryRule[];
  readonly appBytes: number;
}) {
  const [channels, setChannels] = useState(100);
  const [eventBytes, setEventBytes] = useState(500);
  const [perSecond, setPerSecond] = useState(1);
  const inputs = {
    channelsOfEachRule: [channels, setChannels],
    bytesOfAnEvent: [eventBytes, setEventBytes],
    eventsPerSecond: [perSecond, setPerSecond],
  } as const;
  const all = rules.reduce((sum, rule) => {
    const events = Math.min(rule.events, Math.ceil(perSecond * rule.seconds));
    return sum + channels * Math.min(rule.bytes, events * (eventBytes + EVENT_BYTES));
  }, 0);
  const isTooMuch = appBytes > 0 && all > appBytes;
  return (
    <div class="stack tight">
      <h3>Forecast</h3>
      <div class="pair">
        {Object.entries(inputs).map(([name, [value, change]]) => (
          <NumberField key={name} name={name} value={value} change={change} />
        ))}
      </div>
      <p role="status">
        {count(channels * rules.length)} such channels take about {bytes(all)} of memory.
        {appBytes > 0 && ` The app may keep ${bytes(appBytes)}.`}
        {isTooMuch && ' Beyond it, its oldest events are forgotten: clients learn of a gap sooner.'}
      </p>
    </div>
  );
}
