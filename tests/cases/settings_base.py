"""The small settings file most cases begin with."""

BASE = """\
behaviors:
  Duel:
    trainer_type: ppo
    hyperparameters: {batch_size: 32, buffer_size: 128, learning_rate: 0.001, num_epoch: 2}
    network_settings: {hidden_units: 16, num_layers: 1}
    time_horizon: 16
    max_steps: 400
    summary_freq: 100
    checkpoint_interval: 200
    self_play: {window: 3, save_steps: 50, swap_steps: 40, team_change: 100, play_against_latest_model_ratio: 0.5}
"""
