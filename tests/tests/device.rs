//! The device's edges: errors say where, grids beyond 65,535 groups, slices, times of stages.

use kiloworld_gpu::{BatchOptions, Gpu, GpuBatch, GpuError, GpuOptions, Shaders, Tuning};
use kiloworld_layout::{Field, Model, Sizes, Stage};
use kiloworld_tests::adapter::gpu;

const ENTRY: &str = "@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
";

fn shaders(name: &str, imports: &str, body: &str) -> Shaders {
    let mut shaders = Shaders::load().expect("readable");
    let text = format!(
        "// a test\nimport package::layout::{{LANES, WORLDS_PER_GROUP, world_of, {imports}}};\n\n{ENTRY}    {body}\n}}\n"
    );
    shaders.insert(name, text);
    shaders
}

fn small() -> Model<f64> {
    let size = Sizes { nq: 4, nv: 4, nvpad: 4, nlevel1: 1, ..Sizes::default() };
    Model { size, qpos0: vec![0.0; 4], ..Model::default() }
}

fn options(lanes: u32, worlds_per_group: u32, shaders: Shaders) -> BatchOptions {
    let tuning = Some(Tuning { lanes, worlds_per_group, ..Tuning::default() });
    BatchOptions { tuning, shaders: Some(shaders), ..BatchOptions::default() }
}

#[test]
fn a_missing_adapter_is_an_error_that_names_what_there_is() {
    let none = GpuOptions { adapter: Some("no such thing".into()), ..GpuOptions::default() };
    match Gpu::new(&none) {
        Err(e @ GpuError::NoAdapter { .. }) => assert!(e.to_string().contains("no such thing"), "{e}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_shader_error_names_file_and_line() {
    let Some(gpu) = gpu() else { return };
    let wrong = shaders("kinematics", "st_qvel", "st_qvel(w, 0u, 1u);");
    let mut batch = GpuBatch::new(&gpu, &small(), 3, options(1, 2, wrong)).expect("fits");
    let error = batch.run_stage(Stage::Kinematics.into()).expect_err("an f32 is wanted");
    assert!(matches!(&error, GpuError::Shader { file, line: 7, .. } if file == "shaders/kinematics.wgsl"), "{error}");
    let unknown = shaders("kinematics", "st_nothing", "");
    let mut batch = GpuBatch::new(&gpu, &small(), 3, options(1, 2, unknown)).expect("fits");
    let error = batch.run_stage(Stage::Kinematics.into()).expect_err("no such name");
    assert_eq!(error.to_string(), "shaders/kinematics.wgsl:2: module `layout` has no `st_nothing`");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let Some(gpu) = gpu() else { return };
    let with = |lanes, worlds_per_group| {
        GpuBatch::new(&gpu, &small(), 3, options(lanes, worlds_per_group, Shaders::load().expect("readable")))
    };
    assert!(with(0, 1).is_err() && with(65, 1).is_err() && with(1, 0).is_err() && with(64, 1 << 20).is_err());
    assert!(GpuBatch::new(&gpu, &small(), 0, BatchOptions::default()).is_err(), "no worlds");
}

/// More groups than one dimension of a grid holds.
#[test]
fn a_grid_of_two_dimensions_reaches_every_world() {
    let Some(gpu) = gpu() else { return };
    let nworld = 70_001;
    let text = shaders("count", "ld_qpos, st_qpos", "st_qpos(w, 0u, ld_qpos(w, 0u) + f32(w) + 1.0);");
    let mut batch = GpuBatch::new(&gpu, &small(), nworld, options(1, 1, text)).expect("fits");
    assert_eq!(batch.nslice(), 1, "to be seen in one dispatch");
    batch.run_kernel("count", "main", 0).expect("runs");
    let qpos = batch.download(Field::qpos).expect("read");
    let wrong = (0..nworld).find(|&w| qpos[4 * w] != (w + 1) as f32);
    assert_eq!(wrong, None, "each world once");
}

/// `dispatch_arg` counts repetitions and carries a call's part.
#[test]
fn arguments_reach_the_kernel() {
    let Some(gpu) = gpu() else { return };
    let text = shaders(
        "note",
        "dispatch_arg, ld_qpos, st_qpos",
        "st_qpos(w, 0u, 10.0 * ld_qpos(w, 0u) + f32(dispatch_arg()));",
    );
    let mut batch = GpuBatch::new(&gpu, &small(), 3, options(1, 4, text)).expect("fits");
    for arg in [3, 1, 2] {
        batch.run_kernel("note", "main", arg).expect("runs");
    }
    assert_eq!(batch.download(Field::qpos).expect("read")[8], 312.0);
}

#[test]
fn stages_are_timed_where_the_device_can() {
    let Some(gpu) = gpu() else { return };
    let text = shaders("kinematics", "ld_qpos, st_qpos", "st_qpos(w, 0u, ld_qpos(w, 0u) + 1.0);");
    let mut batch = GpuBatch::new(&gpu, &small(), 64, options(1, 8, text)).expect("fits");
    batch.timings().enable(true);
    batch.submit(&[Stage::Kinematics.into()], 5).expect("runs");
    let times = batch.timings().take();
    if gpu.info().has_timestamps {
        assert!(matches!(times[..], [(Stage::Kinematics, seconds, 5)] if seconds > 0.0), "{times:?}");
    } else {
        assert!(times.is_empty());
    }
}

/// A device without memory is an error, and tells how many worlds it would have had memory for. In a process of its own, which
/// may not have more.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_a_device_has_not_is_an_error() {
    const CHILD: &str = "KILOWORLD_TEST_WITHOUT_MEMORY";
    let name = "device::memory_that_a_device_has_not_is_an_error";
    let Some(gpu) = gpu() else { return };
    if !gpu.info().is_cpu {
        kiloworld_tests::left_out::left_out("the memory of a real device cannot be limited");
        return;
    }
    if std::env::var_os(CHILD).is_none() {
        let this = std::env::current_exe().expect("a path");
        let run = format!("ulimit -v 3000000; exec \"$0\" --exact {name} --nocapture --test-threads 1");
        let out = std::process::Command::new("sh").env(CHILD, "1").args(["-c", &run]).arg(this).output();
        let out = out.expect("a shell");
        let said = [out.stdout, out.stderr].concat();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&said));
        return;
    }
    // 40 kB a world
    let size = Sizes { nq: 5000, nv: 4, nvpad: 4, nlevel1: 1, ..Sizes::default() };
    let m = Model { size, qpos0: vec![0.0; 5000], ..Model::default() };
    let made = |n: usize| GpuBatch::new(&gpu, &m, n, BatchOptions::default());
    let too_many = 200_000;
    let e = made(too_many).expect_err("8 GB do not fit");
    assert!(matches!(e, GpuError::Memory { .. }), "{e}");
    let most = GpuBatch::worlds_that_fit(&gpu, &m, too_many, &BatchOptions::default());
    assert!((100..too_many).contains(&most), "{most}");
    // and the device is as good as before
    let batch = made(most / 4).expect("it fits");
    assert_eq!(batch.nworld(), most / 4);
}
