import { useState } from 'preact/hooks';
import type { HistoryRule } from '../../api/answers.ts';
import { Card } from '../../parts/card.tsx';
import { Button, Field } from '../../parts/controls.tsx';
import { bytes, count } from '../../parts/formats.ts';
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
  const put = (at: number, changed: Partial<HistoryRule>) =>
    change(rules.map((rule, index) => (index === at ? { ...rule, ...changed } : rule)));
  return (
    <Card
      title="History"
      aside={<span class="muted small">The first rule that fits a channel counts.</span>}
    >
      <div class="inside stack">
        {rules.map((rule, at) => (
          // Rules have no names, and stay in their places while they are typed.
          <fieldset key={at} class="plain pair" aria-label={`Rule ${at + 1}`}>
            <Field label="Channels, such as chat-*" wrong={faultOf(`history[${at}].channels`)}>
              {(given) => (
                <input
                  {...given}
                  disabled={isReadOnly}
                  value={rule.channels}
                  onInput={({ currentTarget }) => put(at, { channels: currentTarget.value })}
                />
              )}
            </Field>
            {numbers.map((name) => (
              <NumberField
                key={name}
                name={name}
                wrong={faultOf(`history[${at}].${name}`)}
                disabled={isReadOnly}
                value={rule[name]}
                change={(value) => put(at, { [name]: value })}
              />
            ))}
            {!isReadOnly && (
              <Button onClick={() => change(rules.filter((_, index) => index !== at))}>
                Remove
              </Button>
            )}
          </fieldset>
        ))}
        {rules.length > 0 && <Forecast rules={rules} appBytes={appBytes} />}
        {!isReadOnly && (
          <div class="buttons">
            <Button onClick={() => change([...rules, NEW])}>Add a rule</Button>
          </div>
        )}
      </div>
    </Card>
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
