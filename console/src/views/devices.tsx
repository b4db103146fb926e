/** The devices as cards. Dropping an agent on a card moves it there. */
import { useSignal } from "@preact/signals";
import type { DeviceInfo } from "../live/vocabulary.js";
import { restriction } from "../model/devices.js";
import { count, short, visible } from "../model/format.js";
import { devices, go } from "../session.js";
import { AgentCount, dropsOn } from "./places.js";

export function Devices() {
  const all = devices.all.value;
  const more = devices.total.value - all.length;
  if (all.length === 0) return null;
  return (
    <section class="devices" aria-label="Devices">
      <h2>
        {count(devices.total.value)} {devices.total.value === 1 ? "device" : "devices"}
      </h2>
      <ul>
        {all.map((device) => (
          <Card key={device.name} device={device} />
        ))}
        {more > 0 ? <li class="device is-quiet">and {count(more)} more</li> : null}
      </ul>
    </section>
  );
}

function Card({ device }: { readonly device: DeviceInfo }) {
  const isOver = useSignal(false);
  const why = restriction(device);
  const state = device.shunned ? "is-shunned" : why === "" ? "" : "is-slow";
  const { units, units_now, taken, workers, battery } = device;
  return (
    <li class={`device ${state} ${isOver.value ? "is-over" : ""}`} data-device={device.name} {...dropsOn(device.name, isOver)}>
      <header>
        <i class="node-light" title={why || "Active"} />
        <button type="button" class="there" title="The device's agent" onClick={() => go("society", device.name)}>
          <b>{visible(device.name, 28)}</b>
        </button>
        {battery ? <small title={battery.charging ? "Battery, charging" : "Battery"}>{`${battery.percent} %${battery.charging ? ", charging" : ""}`}</small> : null}
      </header>
      <div class="node-figures">
        <AgentCount place={device.name} agents={device.agents} />
        <span title={units_now < units ? `Compute units; ${count(units_now)} are usable now` : "Compute units"}>
          <b>{short(units_now)}</b> {units_now < units ? `of ${short(units)} units` : "units"}
        </span>
        <span title="Workers busy with work, of those that the user allows">
          <b>{taken}</b> of {workers} {workers === 1 ? "worker" : "workers"}
        </span>
      </div>
      {why === "" ? null : <p title={why}>{why}</p>}
    </li>
  );
}
