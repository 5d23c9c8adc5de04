import { Card } from '../../parts/card.tsx';
import { TextField } from '../../parts/controls.tsx';
import type { Editing, Manners } from './tenant-fields.tsx';

/** When notifications of a push instance wait. */
export function MannersFields({ edited, edit, isReadOnly, faultOf }: Editing) {
  const { manners } = edited;
  if (manners === undefined) return null;
  const { quietHours, cap } = manners;
  const change = (changed: Partial<Manners>) => edit({ manners: { ...manners, ...changed } });
  const changeQuiet = (changed: Partial<NonNullable<Manners['quietHours']>>) => {
    const quiet = { from: '', to: '', ...quietHours, ...changed };
    change({ quietHours: quiet.from === '' && quiet.to === '' ? null : quiet });
  };
  const changeCap = (changed: Partial<NonNullable<Manners['cap']>>) => {
    const { notifications, hours } = { notifications: 0, hours: 0, ...cap, ...changed };
    change({ cap: notifications === 0 && hours === 0 ? null : { notifications, hours } });
  };
  return (
    <Card
      title="Manners"
      aside={<span class="muted small">For devices and users that say nothing themselves.</span>}
    >
      <div class="inside">
        <fieldset class="plain pair" aria-label="Manners" disabled={isReadOnly}>
          <TextField
            label="Time zone"
            hint="A name of the IANA database, such as Europe/Berlin."
            wrong={faultOf('timeZone')}
            value={manners.timeZone}
            write={(timeZone) => change({ timeZone })}
          />
          <TextField
            label="Quiet from"
            hint="Such as 22:00. Empty: never."
            wrong={faultOf('quietHours.from') ?? faultOf('quietHours')}
            value={quietHours?.from ?? ''}
            write={(from) => changeQuiet({ from })}
          />
          <TextField
            label="Quiet until"
            hint="Such as 07:30."
            wrong={faultOf('quietHours.to')}
            value={quietHours?.to ?? ''}
            write={(to) => changeQuiet({ to })}
          />
          <TextField
            label="Notifications of a device at most"
            hint="1 to 1,000. Empty: any number."
            wrong={faultOf('cap.notifications') ?? faultOf('cap')}
            value={cap === null ? '' : String(cap.notifications)}
            write={(text) => changeCap({ notifications: Number(text) || 0 })}
          />
          <TextField
            label="In hours"
            hint="1 to 168, from the first notification on."
            wrong={faultOf('cap.hours')}
            value={cap === null ? '' : String(cap.hours)}
            write={(text) => changeCap({ hours: Number(text) || 0 })}
          />
        </fieldset>
      </div>
    </Card>
  );
}
