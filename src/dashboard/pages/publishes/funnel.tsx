import { useState } from 'preact/hooks';
import type { PublishDetails } from '../../api/answers.ts';
import { Card } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { count } from '../../parts/formats.ts';
import { Table } from '../../parts/table-head.tsx';
import { lost, platformNames, platforms, sumOf, waiting } from './words.ts';

/** How far the devices of a publish got, as text and bars, with a table of all counts behind a button. */
export function Funnel({ publish }: { readonly publish: PublishDetails }) {
  const [isTable, setTable] = useState(false);
  return (
    <Card
      title="What became of it"
      aside={
        <Button look="slim" pressed={isTable} onClick={() => setTable(!isTable)}>
          Table
        </Button>
      }
    >
      {isTable ? <CountsTable publish={publish} /> : <Steps publish={publish} />}
    </Card>
  );
}

function Steps({ publish }: { readonly publish: PublishDetails }) {
  const { platforms: counts, delivered, opened } = publish;
  const sum = sumOf(platforms.map((platform) => counts[platform]));
  const steps = [
    { word: 'planned', means: 'Devices that it is for', devices: sum.planned },
    { word: 'accepted', means: 'A gateway took it', devices: sum.accepted },
    { word: 'delivered', means: 'The device reported it', devices: delivered },
    { word: 'opened', means: 'The user opened it', devices: opened },
  ];
  const rest = [
    { word: 'waiting', devices: waiting(sum) - sum.retrying },
    { word: 'tried again later', devices: sum.retrying },
    { word: 'failed', devices: sum.failed },
    { word: 'removed, as the app is gone', devices: sum.pruned },
    { word: 'expired', devices: sum.expired },
    { word: 'cancelled', devices: sum.cancelled },
  ].filter(({ devices }) => devices > 0);
  return (
    <div class="inside stack">
      <ol class="funnel">
        {steps.map(({ word, means, devices }) => (
          <li key={word} title={means}>
            <span>{word}</span>
            <span class="number">{count(devices)}</span>
            <span class="track" aria-hidden="true">
              <i style={{ width: `${sum.planned === 0 ? 0 : (devices / sum.planned) * 100}%` }} />
            </span>
          </li>
        ))}
      </ol>
      <p class="muted small">
        {rest.length === 0
          ? 'No other device is left.'
          : `The others: ${rest.map(({ word, devices }) => `${count(devices)} ${word}`).join(', ')}.`}
        {sum.accepted > 0 && delivered === 0 && ' Apps report “delivered” and “opened” by the SDK.'}
      </p>
    </div>
  );
}

function CountsTable({ publish: { platforms: counts } }: { readonly publish: PublishDetails }) {
  const used = platforms.filter((platform) => counts[platform].planned > 0);
  return (
    <Table
      columns={[
        'Platform',
        { number: 'Planned' },
        { number: 'Accepted' },
        { number: 'Waiting' },
        { number: 'Failed' },
        { number: 'Removed' },
        { number: 'Expired' },
        { number: 'Cancelled' },
      ]}
    >
      {(used.length === 0 ? platforms : used).map((platform) => {
        const of = counts[platform];
        const figures = {
          planned: of.planned,
          accepted: of.accepted,
          waiting: of.planned - of.accepted - lost(of) - of.cancelled,
          failed: of.failed,
          removed: of.pruned,
          expired: of.expired,
          cancelled: of.cancelled,
        };
        return (
          <tr key={platform}>
            <td class="name">{platformNames[platform]}</td>
            {Object.entries(figures).map(([name, devices]) => (
              <td key={name} class="number" data-label={name}>
                {count(devices)}
              </td>
            ))}
          </tr>
        );
      })}
    </Table>
  );
}
