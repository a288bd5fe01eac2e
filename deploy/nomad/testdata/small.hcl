job "small-coordinator" {
  type        = "service"
  priority    = 50
  datacenters = ["*"]
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
    operator  = "="
  }
  constraint {
    attribute = "${attr.nomad.version}"
    value     = ">= 1.4.0-0"
    operator  = "semver"
  }
  group "coordinator" {
    count = 1
    constraint {
      value    = "true"
      operator = "distinct_hosts"
    }
    constraint {
      attribute = "${node.unique.name}"
      value     = "alpha"
      operator  = "="
    }
    task "misstep" {
      driver = "raw_exec"
      config {
        args    = ["coordinator", "--home", "${NOMAD_ALLOC_DIR}/home", "--listen", "${NOMAD_ADDR_grpc}", "--dir", "/srv/misstep"]
        command = "/opt/misstep/misstep"
      }
      env {
        MISSTEP_PLAIN_TEXT_NETWORK = "true"
      }
      resources {
        cpu    = 500
        memory = 512
      }
      kill_timeout = "15s"
      logs {
        max_files     = 5
        max_file_size = 10
      }
      kill_signal = "SIGTERM"
    }
    restart {
      interval = "10m0s"
      attempts = 3
      delay    = "5s"
      mode     = "fail"
    }
    reschedule {
      attempts       = 0
      interval       = "0s"
      delay          = "10s"
      delay_function = "exponential"
      max_delay      = "10m0s"
      unlimited      = true
    }
    ephemeral_disk {
      size = 1024
    }
    update {
      max_parallel      = 1
      health_check      = "checks"
      min_healthy_time  = "5s"
      healthy_deadline  = "5m0s"
      progress_deadline = "15m0s"
      auto_revert       = true
    }
    migrate {
      max_parallel     = 1
      health_check     = "checks"
      min_healthy_time = "5s"
      healthy_deadline = "5m0s"
    }
    network {
      port "grpc" {
        static = 7867
      }
    }
    service {
      name = "small-coordinator"
      port = "grpc"
      check {
        name     = "grpc"
        type     = "tcp"
        interval = "5s"
        timeout  = "2s"
      }
      provider = "nomad"
    }
  }
  meta {
    misstep_fleet   = "small"
    misstep_package = "installed"
  }
}

job "small-plain" {
  type        = "service"
  priority    = 50
  datacenters = ["*"]
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
    operator  = "="
  }
  constraint {
    attribute = "${attr.nomad.version}"
    value     = ">= 1.4.0-0"
    operator  = "semver"
  }
  group "plain" {
    count = 2
    constraint {
      attribute = "${attr.cpu.arch}"
      value     = "amd64"
      operator  = "="
    }
    task "misstep" {
      driver = "raw_exec"
      config {
        args    = ["runner", "--home", "/var/tmp/misstep-small/home", "--coordinator-list", "local/coordinators", "--slots", "1", "--scratch", "/var/tmp/misstep-small/trials", "--drain", "20s", "--offer", "none"]
        command = "/opt/misstep/misstep"
      }
      env {
        MISSTEP_PLAIN_TEXT_NETWORK = "true"
      }
      resources {
        cpu    = 1000
        memory = 1024
      }
      kill_timeout = "30s"
      logs {
        max_files     = 5
        max_file_size = 10
      }
      template {
        destination = "local/coordinators"
        data        = "{{ range nomadService \"small-coordinator\" }}{{ .Address }}:{{ .Port }}\n{{ end }}"
        change_mode = "noop"
      }
      kill_signal = "SIGTERM"
    }
    spread {
      attribute = "${node.unique.id}"
      weight    = 100
    }
    restart {
      interval = "10m0s"
      attempts = 3
      delay    = "5s"
      mode     = "fail"
    }
    reschedule {
      attempts       = 0
      interval       = "0s"
      delay          = "10s"
      delay_function = "exponential"
      max_delay      = "10m0s"
      unlimited      = true
    }
    ephemeral_disk {
      size = 1024
    }
    update {
      max_parallel      = 1
      health_check      = "task_states"
      min_healthy_time  = "5s"
      healthy_deadline  = "5m0s"
      progress_deadline = "15m0s"
      auto_revert       = true
    }
    migrate {
      max_parallel     = 1
      health_check     = "task_states"
      min_healthy_time = "5s"
      healthy_deadline = "5m0s"
    }
  }
  meta {
    misstep_fleet   = "small"
    misstep_package = "installed"
  }
}

